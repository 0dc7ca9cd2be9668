package contain

// Probe returns what would be in force for a plugin without needs on this system. It starts nothing.
func Probe() (report Report) {
	done := make(chan struct{})
	defer close(done)
	OnThread(func() { report = Apply(Rules{Devices: systemDevices}) }, done)
	return report
}
