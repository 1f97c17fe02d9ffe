package process

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"testing"
	"time"

	"labhub.io/teamspace/sandbox/port"
)

// childMode makes the test binary behave like a program to be supervised.
const (
	childMode    = "PROCESS_TEST_CHILD"
	childAddress = "PROCESS_TEST_ADDRESS"
)

func TestMain(m *testing.M) {
	switch mode := os.Getenv(childMode); mode {
	case "":
		os.Exit(m.Run())
	case "serve":
		signals := make(chan os.Signal, 1)
		signal.Notify(signals, syscall.SIGTERM)
		go serve()
		<-signals
		fmt.Println("ending cleanly")
	case "stubborn":
		signal.Ignore(syscall.SIGTERM)
		serve()
	case "fail":
		for i := range 30 {
			fmt.Println("line", i)
		}
		os.Exit(3)
	case "deaf":
		never := make(chan os.Signal, 1)
		signal.Notify(never, syscall.SIGUSR1)
		<-never
	case "parent":
		beParent()
	default:
		panic("unknown mode " + mode)
	}
}

// serve answers 200, and dies when asked at /die.
func serve() {
	http.HandleFunc("/die", func(http.ResponseWriter, *http.Request) {
		fmt.Println("dying as asked")
		os.Exit(4)
	})
	http.HandleFunc("/", func(http.ResponseWriter, *http.Request) {})
	if err := http.ListenAndServe(os.Getenv(childAddress), nil); err != nil {
		fmt.Println(err)
		os.Exit(5)
	}
}

// beParent supervises a program, says its process id, and waits to be killed.
func beParent() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGUSR1) //nolint:forbidigo // this is a main function
	defer stop()
	d := Definition{
		Name: "child", Path: os.Args[0], Env: []string{childMode + "=deaf"}, Log: os.DevNull,
		StartTimeout: time.Minute, Ready: func(context.Context, time.Time) error { return nil },
	}
	s := NewService(d, NewSpawner(), nil)
	if _, err := s.Start(ctx); err != nil {
		panic(err)
	}
	fmt.Println(s.Status().PID)
	<-ctx.Done()
}

// define returns a definition of the test binary in that mode.
func define(t *testing.T, mode string) Definition {
	t.Helper()
	address, err := port.NewPicker().Free()
	if err != nil {
		t.Fatal(err)
	}
	return Definition{
		Name:         "child",
		Path:         os.Args[0],
		Env:          []string{childMode + "=" + mode, childAddress + "=" + address},
		Log:          t.TempDir() + "/child.log",
		Addresses:    map[string]string{"http": address},
		Grace:        10 * time.Second,
		StartTimeout: 30 * time.Second,
		Ready: func(ctx context.Context, _ time.Time) error {
			return get(ctx, "http://"+address+"/")
		},
	}
}

// get returns nil if the answer is 200.
func get(ctx context.Context, url string) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	response, err := client.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("status %s", response.Status)
	}
	return nil
}

// die makes the program end by itself.
func die(t *testing.T, d Definition) {
	t.Helper()
	// It ends in the middle of the answer, so there is always an error.
	_ = get(t.Context(), "http://"+d.Addresses["http"]+"/die")
}

// occupy listens on the address until the test ends.
func occupy(t *testing.T, address string) {
	t.Helper()
	listener, err := net.Listen("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
}

// eventually polls until the condition holds.
func eventually(t *testing.T, what string, condition func() bool) {
	t.Helper()
	ticker := time.NewTicker(5 * time.Millisecond)
	defer ticker.Stop()
	deadline := time.Now().Add(30 * time.Second)
	for !condition() {
		if now := <-ticker.C; now.After(deadline) {
			t.Fatalf("%s: not within 30s", what)
		}
	}
}

// alive reports whether the process exists and is no zombie.
func alive(pid int) bool {
	return syscall.Kill(pid, 0) == nil && !zombie(pid)
}
