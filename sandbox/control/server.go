package control

import (
	"crypto/rand"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"time"

	"labhub.io/teamspace/sandbox/port"
)

// Server is a control endpoint.
type Server struct {
	http *http.Server
	file string
}

// Serve opens an endpoint for what is commanded, and publishes it in dir.
func Serve(dir string, commanded Commanded) (*Server, error) {
	return ServeAt(port.Loopback, dir, commanded)
}

// ServeAt does the same at another address of this machine.
func ServeAt(host, dir string, commanded Commanded) (*Server, error) {
	listener, err := net.Listen("tcp", net.JoinHostPort(host, "0"))
	if err != nil {
		return nil, fmt.Errorf("opening the control endpoint: %w", err)
	}
	token := rand.Text()
	s := &Server{
		http: &http.Server{Handler: handler(token, commanded), ReadHeaderTimeout: 5 * time.Second},
		file: contactFile(dir),
	}
	data, err := json.Marshal(contact{Address: listener.Addr().String(), Token: token, PID: os.Getpid()})
	if err == nil {
		// Removed first: the mode counts for new files only.
		_ = os.Remove(s.file)
		err = os.WriteFile(s.file, data, 0o600)
	}
	if err != nil {
		_ = listener.Close() // the other error is the one to tell
		return nil, fmt.Errorf("publishing the control endpoint: %w", err)
	}
	go func() {
		// It ends when Close does its work; no other end has a remedy.
		_ = s.http.Serve(listener)
	}()
	return s, nil
}

// Close withdraws the endpoint, and cancels the commands under way.
func (s *Server) Close() {
	_ = os.Remove(s.file)
	_ = s.http.Close()
}

// handler answers those who have the token.
func handler(token string, commanded Commanded) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /status", func(w http.ResponseWriter, _ *http.Request) {
		reply(w, http.StatusOK, answer{Status: commanded.Status()})
	})
	mux.HandleFunc("POST /command", func(w http.ResponseWriter, r *http.Request) {
		var command Command
		if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, 1<<16)).Decode(&command); err != nil {
			reply(w, http.StatusBadRequest, answer{Error: "decoding the command: " + err.Error()})
			return
		}
		note, err := commanded.Do(r.Context(), command)
		if err != nil {
			reply(w, statusOf(err), answer{Error: err.Error()})
			return
		}
		reply(w, http.StatusOK, answer{Note: note})
	})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if subtle.ConstantTimeCompare([]byte(r.Header.Get("Authorization")), []byte("Bearer "+token)) != 1 {
			reply(w, http.StatusUnauthorized, answer{Error: "the token is not the one of this sandbox"})
			return
		}
		mux.ServeHTTP(w, r)
	})
}

// statusOf is the HTTP status that an error is told with.
func statusOf(err error) int {
	if _, ok := errors.AsType[*UnknownComponentError](err); ok {
		return http.StatusNotFound
	}
	return http.StatusInternalServerError
}

// reply writes the answer.
func reply(w http.ResponseWriter, status int, a answer) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	// A client that has gone away does not want to know.
	_ = json.NewEncoder(w).Encode(a)
}
