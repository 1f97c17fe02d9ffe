package replica

import (
	"errors"
	"io"
	"net"
	"sync"
	"testing"
	"time"
)

// probeInterval is how often a Balancer asks whether a replica is ready. A kubelet takes
// longer, and the lame-duck period in a cluster is as much longer.
const probeInterval = 50 * time.Millisecond

// Balancer spreads connections over the replicas that are ready, as a Service does for
// its pods: one that is open already stays where it is.
type Balancer struct {
	listener net.Listener
	done     chan struct{}

	mu       sync.Mutex
	backends []*backend
	turn     int
}

type backend struct {
	replica *Replica
	ready   bool
	gone    bool
	open    map[net.Conn]struct{}
	ever    int // connections, those that have ended too
}

// Balance listens at an address for the replicas that will be added, until the test ends.
func Balance(t testing.TB, address string) *Balancer {
	t.Helper()
	listener, err := net.Listen("tcp", address)
	if err != nil {
		t.Fatalf("listening in the place of the Service: %v", err)
	}
	b := &Balancer{listener: listener, done: make(chan struct{})}
	go b.accept()
	t.Cleanup(func() {
		close(b.done)
		_ = listener.Close() // nothing more is to come
	})
	return b
}

// Add sends connections to a replica while it is ready.
func (b *Balancer) Add(r *Replica) {
	one := &backend{replica: r, open: map[net.Conn]struct{}{}}
	b.mu.Lock()
	b.backends = append(b.backends, one)
	b.mu.Unlock()
	go b.probe(one)
}

// Remove forgets a replica that has ended.
func (b *Balancer) Remove(r *Replica) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, one := range b.backends {
		if one.replica == r {
			one.gone, one.ready = true, false
		}
	}
}

// Connections counts those that lead to a replica, and those that ever have.
func (b *Balancer) Connections(r *Replica) (open, ever int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, one := range b.backends {
		if one.replica == r {
			open, ever = open+len(one.open), ever+one.ever
		}
	}
	return open, ever
}

// Leads says whether new connections may come to a replica.
func (b *Balancer) Leads(r *Replica) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, one := range b.backends {
		if one.replica == r && one.ready {
			return true
		}
	}
	return false
}

func (b *Balancer) probe(one *backend) {
	tick := time.NewTicker(probeInterval)
	defer tick.Stop()
	for {
		ready := one.replica.Ready() == nil
		b.mu.Lock()
		one.ready = ready && !one.gone
		gone := one.gone
		b.mu.Unlock()
		if gone {
			return
		}
		select {
		case <-tick.C:
		case <-b.done:
			return
		}
	}
}

func (b *Balancer) accept() {
	for {
		connection, err := b.listener.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err == nil {
			go b.serve(connection)
		}
	}
}

// serve leads a connection to a replica. One that refuses is passed over.
func (b *Balancer) serve(client net.Conn) {
	defer client.Close()
	for _, one := range b.order() {
		server, err := net.DialTimeout("tcp", one.replica.Address, time.Second)
		if err != nil {
			continue
		}
		b.count(one, client, true)
		join(client, server)
		b.count(one, client, false)
		return
	}
}

// order is the replicas that are ready, another one first each time.
func (b *Balancer) order() []*backend {
	b.mu.Lock()
	defer b.mu.Unlock()
	var ready []*backend
	for i := range b.backends {
		if one := b.backends[(i+b.turn)%len(b.backends)]; one.ready {
			ready = append(ready, one)
		}
	}
	b.turn++
	return ready
}

func (b *Balancer) count(one *backend, connection net.Conn, open bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if open {
		one.open[connection] = struct{}{}
		one.ever++
	} else {
		delete(one.open, connection)
	}
}

// join copies both ways until one side ends, and ends the other then.
func join(client, server net.Conn) {
	defer server.Close()
	var both sync.WaitGroup
	both.Go(func() { _, _ = io.Copy(server, client); _ = server.Close() })
	both.Go(func() { _, _ = io.Copy(client, server); _ = client.Close() })
	both.Wait()
}
