package client

// guard ends the processes that plugins have started when this process is gone. This system has no guard.
type guard struct{}

func startGuard() *guard                   { return nil }
func (g *guard) watch(int, string, string) {}
func (g *guard) forget(int)                {}
func (g *guard) close()                    {}
