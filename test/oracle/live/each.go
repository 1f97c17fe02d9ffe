package live

import (
	"errors"
	"sync"
)

// clients is how many requests are under way at once.
const clients = 12

// Each works on all of the list, several at a time, and returns what went wrong.
func Each[T any](list []T, work func(int, T) error) error {
	errs := make([]error, len(list))
	next := make(chan int)
	var workers sync.WaitGroup
	for range clients {
		workers.Go(func() {
			for i := range next {
				errs[i] = work(i, list[i])
			}
		})
	}
	for i := range list {
		next <- i
	}
	close(next)
	workers.Wait()
	return errors.Join(errs...)
}
