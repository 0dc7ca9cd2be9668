package place

import (
	"math"
	"slices"
)

// cut reassigns the units on members x and y to these two by a minimum cut. All other units stay where they are. No other division between
// x and y costs less, apart from memory limits, which the cut ignores. Units on the source's side of the cut are assigned to x. The
// transfer of a tensor that is created on one side and used on the other is counted once: the tensor is a vertex to which all of its users
// are connected.
func (p *Problem) cut(assigned []int, x, y int) []int {
	const source, sink = 0, 1
	g := &network{}
	g.vertex()
	g.vertex()
	vertex := make([]int, len(assigned))
	for i, m := range assigned {
		if m == x || m == y {
			vertex[i] = g.vertex()
			g.edge(vertex[i], sink, p.Time[i][x])
			g.edge(source, vertex[i], p.Time[i][y])
		}
	}
	of := func(unit int) (v int, ours bool) {
		switch m := p.at(assigned, unit); {
		case unit != outside && (m == x || m == y):
			return vertex[unit], true
		case m == x:
			return source, true
		default:
			return sink, m == y
		}
	}
	for _, f := range p.flows {
		producer, ours := of(f.producer)
		var users []int
		far := map[int]bool{}
		for _, u := range f.users {
			if v, mine := of(u); mine {
				users = append(users, v)
			} else {
				far[p.at(assigned, u)] = true
			}
		}
		if !ours {
			home := p.at(assigned, f.producer)
			g.gather(users, sink, p.Link(home, x, f.bytes))
			g.spread(source, users, p.Link(home, y, f.bytes))
			continue
		}
		for to := range far {
			g.edge(producer, sink, p.Link(x, to, f.bytes))
			g.edge(source, producer, p.Link(y, to, f.bytes))
		}
		g.spread(producer, users, p.Link(x, y, f.bytes))
		g.gather(users, producer, p.Link(y, x, f.bytes))
	}
	g.saturate(source, sink)
	near := g.reached(source)
	b := slices.Clone(assigned)
	for i, v := range vertex {
		switch {
		case v == 0:
		case near[v] >= 0 && !math.IsInf(p.Time[i][x], 1):
			b[i] = x
		default:
			b[i] = y
		}
	}
	return b
}

// network is a flow network with real capacities.
type network struct {
	out [][]int // edges by vertex
	to  []int
	cap []float64 // remaining capacity; edge e^1 is the reverse of edge e
}

func (g *network) vertex() int {
	g.out = append(g.out, nil)
	return len(g.out) - 1
}

// edge adds an edge, which costs its capacity if vertex from is on the source's side and vertex to is not.
func (g *network) edge(from, to int, capacity float64) {
	g.out[from] = append(g.out[from], len(g.to))
	g.out[to] = append(g.out[to], len(g.to)+1)
	g.to = append(g.to, to, from)
	g.cap = append(g.cap, capacity, 0)
}

// spread adds cost once if vertex from is on the source's side and any of the vertices to is not.
func (g *network) spread(from int, to []int, cost float64) {
	v := g.vertex()
	g.edge(from, v, cost)
	for _, t := range to {
		g.edge(v, t, math.Inf(1))
	}
}

// gather adds cost once if any of the vertices from is on the source's side and vertex to is not.
func (g *network) gather(from []int, to int, cost float64) {
	v := g.vertex()
	g.edge(v, to, cost)
	for _, f := range from {
		g.edge(f, v, math.Inf(1))
	}
}

// reached returns the distance of each vertex from vertex from, over edges with remaining capacity; -1 if it cannot be reached.
func (g *network) reached(from int) []int {
	far := slices.Repeat([]int{-1}, len(g.out))
	far[from] = 0
	for next := []int{from}; len(next) > 0; next = next[1:] {
		for _, e := range g.out[next[0]] {
			if v := g.to[e]; far[v] < 0 && g.cap[e] > 0 {
				far[v] = far[next[0]] + 1
				next = append(next, v)
			}
		}
	}
	return far
}

// saturate computes a maximum flow with Dinic's algorithm.
func (g *network) saturate(source, sink int) {
	for {
		far := g.reached(source)
		if far[sink] < 0 {
			return
		}
		tried := make([]int, len(g.out))
		for g.push(source, sink, math.Inf(1), far, tried) > 0 {
		}
	}
}

// push sends flow from v to the sink along shortest paths, up to the bound most, and returns the amount.
func (g *network) push(v, sink int, most float64, far, tried []int) float64 {
	if v == sink {
		return most
	}
	for ; tried[v] < len(g.out[v]); tried[v]++ {
		e := g.out[v][tried[v]]
		if to := g.to[e]; g.cap[e] > 0 && far[to] == far[v]+1 {
			if sent := g.push(to, sink, min(most, g.cap[e]), far, tried); sent > 0 {
				g.cap[e] -= sent
				g.cap[e^1] += sent
				return sent
			}
		}
	}
	return 0
}
