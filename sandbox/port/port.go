// Package port finds loopback addresses that nothing listens on.
package port

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"strconv"
	"strings"
	"syscall"
)

// Loopback is the address that the sandbox listens on, but for what has to be where a
// Service is.
const Loopback = "127.0.0.1"

// lowest is the first port that Free considers, nodePorts the first that it does not: from there on
// a cluster gives them to Services, and whoever enforces NetworkPolicies lets them in.
const lowest, nodePorts = 20000, 30000

// attempts is how many ports Free tries before it gives up.
const attempts = 200

// InUseError says that something listens on an address already.
type InUseError struct {
	Address string
}

// Error names the address.
func (e *InUseError) Error() string {
	return fmt.Sprintf("the address %s is in use by another process", e.Address)
}

// CheckFree returns an *InUseError if nobody could listen on address now.
func CheckFree(address string) error {
	listener, err := net.Listen("tcp", address)
	if errors.Is(err, syscall.EADDRINUSE) {
		return &InUseError{Address: address}
	}
	if err != nil {
		return fmt.Errorf("trying whether the address %s is free: %w", address, err)
	}
	return listener.Close()
}

// Picker hands out free loopback addresses, none of them twice.
type Picker struct {
	taken map[int]bool
}

// NewPicker returns a Picker.
func NewPicker() *Picker { return &Picker{taken: map[int]bool{}} }

// Free returns an address that nothing listens on. Its port is below those that
// the kernel gives to outgoing connections. A component that is stopped for a
// while would otherwise lose its port to one of them, in the worst case to a
// client that dials the port and, through simultaneous open, reaches itself.
func (p *Picker) Free() (string, error) { return p.FreeAt(Loopback) }

// FreeAt does the same on another address of this machine.
func (p *Picker) FreeAt(host string) (string, error) {
	end := min(firstEphemeral(), nodePorts)
	for range attempts {
		candidate := lowest + rand.IntN(end-lowest)
		if address, ok := p.take(host, candidate); ok {
			return address, nil
		}
	}
	return "", fmt.Errorf("finding a free port between %d and %d on %s: none after %d attempts", lowest, end-1, host, attempts)
}

// Prefer returns the address if it is free, and any other free one if not.
func (p *Picker) Prefer(address string) (string, error) { return p.PreferAt(Loopback, address) }

// PreferAt does the same on another address of this machine: only the port of the one
// that is preferred counts.
func (p *Picker) PreferAt(host, address string) (string, error) {
	if _, text, err := net.SplitHostPort(address); err == nil {
		if wanted, err := strconv.Atoi(text); err == nil && wanted > 0 {
			if address, ok := p.take(host, wanted); ok {
				return address, nil
			}
		}
	}
	return p.FreeAt(host)
}

// take reserves the port if nothing listens on it.
func (p *Picker) take(host string, candidate int) (string, bool) {
	address := net.JoinHostPort(host, strconv.Itoa(candidate))
	if p.taken[candidate] || CheckFree(address) != nil {
		return "", false
	}
	p.taken[candidate] = true
	return address, true
}

// firstEphemeral is the lowest port that the kernel gives to outgoing
// connections. Where that cannot be read, or leaves too little room, it is the
// lowest of IANA's dynamic ports.
func firstEphemeral() int {
	const iana = 49152
	data, err := os.ReadFile("/proc/sys/net/ipv4/ip_local_port_range")
	if err != nil {
		return iana
	}
	fields := strings.Fields(string(data))
	if len(fields) == 0 {
		return iana
	}
	first, err := strconv.Atoi(fields[0])
	if err != nil || first < lowest+1000 {
		return iana
	}
	return first
}
