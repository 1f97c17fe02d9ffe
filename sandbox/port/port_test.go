package port

import (
	"errors"
	"net"
	"strconv"
	"testing"
)

// listen listens on the address until the test ends.
func listen(t *testing.T, address string) string {
	t.Helper()
	listener, err := net.Listen("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	return listener.Addr().String()
}

func TestCheckFree(t *testing.T) {
	taken := listen(t, Loopback+":0")
	inUse, ok := errors.AsType[*InUseError](CheckFree(taken))
	if !ok || inUse.Address != taken {
		t.Errorf("CheckFree(%s) = %v, want an InUseError for it", taken, inUse)
	}
	free, err := NewPicker().Free()
	if err != nil {
		t.Fatal(err)
	}
	if err := CheckFree(free); err != nil {
		t.Errorf("CheckFree(%s) = %v, want nil", free, err)
	}
	if err := CheckFree("no address"); err == nil {
		t.Error("CheckFree of no address = nil, want an error")
	}
}

func TestPicker_FreeIsNobodyElses(t *testing.T) {
	picker, seen := NewPicker(), map[string]bool{}
	for range 50 {
		address, err := picker.Free()
		if err != nil {
			t.Fatal(err)
		}
		host, text, err := net.SplitHostPort(address)
		if err != nil || host != Loopback {
			t.Fatalf("Free() = %s, want a loopback address", address)
		}
		if number, err := strconv.Atoi(text); err != nil || number < lowest || number >= min(firstEphemeral(), nodePorts) {
			t.Errorf("Free() = %s, want a port from %d to below %d", address, lowest, min(firstEphemeral(), nodePorts))
		}
		if seen[address] {
			t.Errorf("Free() returned %s twice", address)
		}
		seen[address] = true
	}
}

func TestPicker_Prefer(t *testing.T) {
	free, err := NewPicker().Free()
	if err != nil {
		t.Fatal(err)
	}
	picker := NewPicker()
	if got, err := picker.Prefer(free); err != nil || got != free {
		t.Errorf("Prefer(%s) = %s, %v, want the same", free, got, err)
	}
	for name, address := range map[string]string{
		"handed out before": free,
		"in use":            listen(t, Loopback+":0"),
		"none":              "",
		"not an address":    "x:y",
	} {
		got, err := picker.Prefer(address)
		if err != nil || got == address {
			t.Errorf("%s: Prefer(%q) = %q, %v, want another address", name, address, got, err)
		}
	}
}
