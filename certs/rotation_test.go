package certs

import (
	"crypto/tls"
	"crypto/x509"
	"testing"
	"time"
)

// short is a life that a test can watch to its end.
var short = Lifetimes{Leaf: 6 * time.Minute, Authority: 60 * time.Minute}

func leafOf(t *testing.T, p Pair) *x509.Certificate {
	t.Helper()
	certificate, err := tls.X509KeyPair(p.Leaf, p.LeafKey)
	if err != nil {
		t.Fatal(err)
	}
	return certificate.Leaf
}

// TestRotation_Life steps through four lives of an authority, from one moment at which
// something is due to the next. At each of them the pair can be served, whoever trusts
// what was published last accepts it, and whoever still presents the leaf before it is
// accepted too.
func TestRotation_Life(t *testing.T) {
	r := rotation{name: dnsName, lifetimes: short}
	now := began
	p, err := r.advance(Pair{}, now)
	if err != nil {
		t.Fatal(err)
	}
	var leaves, overlaps, drops int
	for now.Before(began.Add(4 * short.Authority)) {
		due := r.due(p)
		if !due.After(now) {
			t.Fatalf("%s after the beginning it is due at once", now.Sub(began))
		}
		if same, err := r.advance(p, due.Add(-time.Second)); err != nil || !same.equal(p) {
			t.Fatalf("a second before it is due something has changed (%v)", err)
		}
		now = due
		next, err := r.advance(p, now)
		if err != nil {
			t.Fatal(err)
		}
		if next.equal(p) {
			t.Fatalf("%s after the beginning nothing has changed", now.Sub(began))
		}
		before, after := authorities(p.CA), authorities(next.CA)
		switch {
		case len(after) > len(before):
			overlaps++
		case len(after) < len(before):
			drops++
		}
		if leafOf(t, next).SerialNumber.Cmp(leafOf(t, p).SerialNumber) != 0 {
			leaves++
		}
		if _, err := next.Certificate(dnsName, now); err != nil {
			t.Fatalf("%s after the beginning the pair cannot be served: %v", now.Sub(began), err)
		}
		if err := Trusts(next.CA, leafOf(t, p), dnsName, now); err != nil {
			t.Fatalf("%s after the beginning the leaf before is not trusted: %v", now.Sub(began), err)
		}
		p = next
	}
	// A leaf lives for four minutes before it is renewed, an authority for forty.
	if leaves < 50 || overlaps != 6 || drops != 5 {
		t.Errorf("%d leaves, %d new authorities, %d dropped", leaves, overlaps, drops)
	}
}

// TestRotation_Salvage: what can be kept is kept.
func TestRotation_Salvage(t *testing.T) {
	r := rotation{name: dnsName, lifetimes: lifetimes}
	good, other := issue(t), issue(t)
	with := func(change func(*Pair)) Pair {
		p := good
		change(&p)
		return p
	}
	for name, tc := range map[string]struct {
		found         Pair
		sameAuthority bool
	}{
		"nothing is wrong":                    {good, true},
		"the leaf is gone":                    {with(func(p *Pair) { p.Leaf = nil }), true},
		"the key of the leaf is another's":    {with(func(p *Pair) { p.LeafKey = other.LeafKey }), true},
		"the leaf is another's":               {with(func(p *Pair) { p.Leaf, p.LeafKey = other.Leaf, other.LeafKey }), true},
		"the key of the authority is gone":    {with(func(p *Pair) { p.CAKey = nil }), false},
		"that key is another's":               {with(func(p *Pair) { p.CAKey = other.CAKey }), false},
		"the authority is gone":               {with(func(p *Pair) { p.CA = nil }), false},
		"there is rubbish before it":          {with(func(p *Pair) { p.CA = append([]byte("rubbish\n"), p.CA...) }), true},
		"all of it is of a day far from now":  {issueAt(t, began.Add(100*365*24*time.Hour)), false},
		"all of it has expired":               {issueAt(t, began.Add(-100*365*24*time.Hour)), false},
		"a key of a kind that nobody expects": {with(func(p *Pair) { p.CAKey = encodePEM("PRIVATE KEY", []byte("x")) }), false},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := r.advance(tc.found, began)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := got.Certificate(dnsName, began); err != nil {
				t.Errorf("the pair cannot be served: %v", err)
			}
			newest := authorities(got.CA)[0]
			if same := newest.Equal(authorities(good.CA)[0]); same != tc.sameAuthority {
				t.Errorf("the newest authority is the same: %t", same)
			}
			if again, err := r.advance(got, began); err != nil || !again.equal(got) {
				t.Errorf("a second time something changes (%v)", err)
			}
		})
	}
}

func issueAt(t *testing.T, at time.Time) Pair {
	t.Helper()
	pair, err := Issue(dnsName, lifetimes, at)
	if err != nil {
		t.Fatal(err)
	}
	return pair
}

func TestLifetimes_Validate(t *testing.T) {
	for name, tc := range map[string]struct {
		lifetimes Lifetimes
		good      bool
	}{
		"the default":                     {DefaultLifetimes(), true},
		"as short as can be":              {Lifetimes{3 * time.Second, 9 * time.Second}, true},
		"a leaf that ends at once":        {Lifetimes{time.Second, time.Hour}, false},
		"an authority that ends too soon": {Lifetimes{time.Hour, 2 * time.Hour}, false},
		"nothing":                         {Lifetimes{}, false},
	} {
		if err := tc.lifetimes.Validate(); (err == nil) != tc.good {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestRotation_Shortened: a leaf of a time when leaves lived longer does not live on.
func TestRotation_Shortened(t *testing.T) {
	long := issue(t)
	p, err := rotation{name: dnsName, lifetimes: short}.advance(long, began)
	if err != nil {
		t.Fatal(err)
	}
	if end := leafOf(t, p).NotAfter; end.After(began.Add(short.Leaf)) {
		t.Errorf("the leaf ends at %s", end)
	}
	if len(authorities(p.CA)) != 1 {
		t.Error("the authority is another one")
	}
}

// TestNewLeaf: a leaf never outlives its authority, or there would be a time in which
// nobody could trust it.
func TestNewLeaf(t *testing.T) {
	authority, key, err := newAuthority(began, time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	leaf, _, err := newLeaf(dnsName, began, 2*time.Hour, authority, key)
	if err != nil {
		t.Fatal(err)
	}
	if leaf.NotAfter.After(authority.NotAfter) {
		t.Errorf("the leaf ends at %s, the authority at %s", leaf.NotAfter, authority.NotAfter)
	}
}
