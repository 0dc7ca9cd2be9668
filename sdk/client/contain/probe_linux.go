package contain

// Probe returns the report that a plugin without needs would get on this system. It starts nothing.
func Probe() (report Report) {
	done := make(chan struct{})
	defer close(done)
	OnThread(func() { report = Apply(Rules{Devices: systemDevices}) }, done)
	return report
}
