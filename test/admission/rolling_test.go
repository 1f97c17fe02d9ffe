package admission

import (
	"bytes"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net/http"
	"testing"
	"time"

	"labhub.io/teamspace/test/replica"
	"labhub.io/teamspace/test/world"
)

// three starts three replicas behind one Service.
func three(t *testing.T, w *world.World, flags ...string) (*replica.Balancer, []*replica.Replica) {
	t.Helper()
	balancer := replica.Balance(t, service(t, w))
	all := make([]*replica.Replica, 3)
	for i := range all {
		all[i] = member(t, w, balancer, flags...)
	}
	for _, r := range all {
		awaitMember(t, balancer, r)
	}
	w.AwaitServing(t)
	return balancer, all
}

func member(t *testing.T, w *world.World, balancer *replica.Balancer, flags ...string) *replica.Replica {
	t.Helper()
	r := replica.Start(t, w, replica.Options{Address: replica.Free(t, "127.0.0.1"), Flags: flags})
	balancer.Add(r)
	return r
}

func awaitMember(t *testing.T, balancer *replica.Balancer, r *replica.Replica) {
	t.Helper()
	world.Eventually(t, 2*world.Patience, "the Service leads to the replica", func() error {
		if !balancer.Leads(r) {
			return errors.Join(r.Ready(), errors.New("it does not"))
		}
		return nil
	})
}

// TestRollingRestart: while each of three processes is replaced under load nobody fails
// to be judged. One that is told to stop is not ready any more at once, goes on answering
// and asks for a new connection with each answer.
func TestRollingRestart(t *testing.T) {
	w := begin(t)
	const lameDuck = "--lame-duck=6s"
	balancer, all := three(t, w, lameDuck)
	before, l := unanswered(t, w), newLoad(t, w)
	began := time.Now()
	stop := l.start(t, 200, 16)
	for _, old := range all {
		next := member(t, w, balancer, lameDuck)
		awaitMember(t, balancer, next)
		if before := review(t, old); before.closes {
			t.Error("before the signal it closes the connection")
		}
		old.Terminate(t)
		world.Eventually(t, world.Patience, "it is not ready any more", func() error {
			if old.Ready() == nil {
				return errors.New("it is")
			}
			return nil
		})
		if after := review(t, old); after.code != http.StatusOK || !after.closes {
			t.Errorf("after the signal it answers %d, and closes the connection: %t", after.code, after.closes)
		}
		old.AwaitEnd(t)
		balancer.Remove(old)
	}
	stop()
	t.Log(l.tell(time.Since(began)))
	if l.failed.Load() > 0 {
		t.Errorf("%d writes were not judged", l.failed.Load())
	}
	if more := unanswered(t, w) - before; more > 0 {
		t.Errorf("the API server counts %g calls that failed", more)
	}
}

// TestKill: of a process that is killed only what was in flight is lost.
func TestKill(t *testing.T) {
	w := begin(t)
	balancer, all := three(t, w)
	l := newLoad(t, w)
	began := time.Now()
	stop := l.start(t, 200, 16)
	world.Eventually(t, world.Patience, "there is some load", func() error {
		if l.sent.Load() < 400 {
			return fmt.Errorf("%d writes", l.sent.Load())
		}
		return nil
	})
	open, before := balancer.Connections(all[0])
	all[0].Kill(t)
	balancer.Remove(all[0])
	already := l.sent.Load()
	world.Eventually(t, world.Patience, "the load goes on", func() error {
		if l.sent.Load() < already+1000 {
			return fmt.Errorf("%d writes", l.sent.Load())
		}
		return nil
	})
	stop()
	t.Log(l.tell(time.Since(began)))
	// A connection carries one request at a time. What was opened while the process died counts.
	_, ever := balancer.Connections(all[0])
	open += ever - before
	t.Logf("%d connections led to the process that was killed", open)
	if failed := l.failed.Load(); failed > int64(max(open, 1)) {
		t.Errorf("%d writes were not judged, but only %d connections led to the process that was killed", failed, open)
	}
}

// anyReview asks about an object without references, which is allowed without a look at
// anything.
const anyReview = `{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{"uid":"1","operation":"CREATE",` +
	`"kind":{"version":"v1","kind":"ConfigMap"},"resource":{"version":"v1","resource":"configmaps"},"name":"x","namespace":"default",` +
	`"userInfo":{"username":"somebody"},"object":{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"x","namespace":"default"}}}}`

// answer is what a replica said to a review, and whether with "Connection: close".
type answer struct {
	code   int
	closes bool
}

// review asks a replica itself, over HTTP/1.1 as the API server does.
func review(t *testing.T, r *replica.Replica) answer {
	t.Helper()
	said, err := ask(r, anyReview)
	if err != nil {
		t.Fatal(err)
	}
	return said
}

func ask(r *replica.Replica, body string) (answer, error) {
	transport := &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}} // whom it is asked is known here
	defer transport.CloseIdleConnections()
	c := &http.Client{Transport: transport, Timeout: 10 * time.Second}
	response, err := c.Post("https://"+r.Address+"/ownerreferences", "application/json", bytes.NewBufferString(body))
	if err != nil {
		return answer{}, err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err == nil && !bytes.Contains(text, []byte(`"allowed":true`)) {
		err = fmt.Errorf("the answer is %s: %s", response.Status, text)
	}
	return answer{response.StatusCode, response.Close}, err
}
