package client

// guard is a process that ends what plugins have started when this one is gone: there is none.
type guard struct{}

func startGuard() *guard                   { return nil }
func (g *guard) watch(int, string, string) {}
func (g *guard) forget(int)                {}
func (g *guard) close()                    {}
