// Goroutines that wait for each other, grow their stacks, are interrupted in a loop and panic: the
// scheduler runs on stacks of its own, moves theirs, and continues them on other threads.
package main

import (
	"fmt"
	"runtime"
	"sync"
)

//go:noinline
func deep(n int) int {
	var frame [32]int
	frame[n%32] = n
	if n == 0 {
		return 0
	}
	return deep(n-1) + frame[n%32]
}

//go:noinline
func spin(n int) (sum int) {
	for i := 0; i < n; i++ {
		sum += i ^ sum>>3
	}
	return
}

//go:noinline
func fail(pointer *int) int {
	return *pointer
}

func caught() (what interface{}) {
	defer func() { what = recover() }()
	return fail(nil)
}

func worker(id int, results chan int, group *sync.WaitGroup) {
	defer group.Done()
	for i := 0; i < 5; i++ {
		results <- id * i
		runtime.Gosched()
	}
	results <- deep(1000)
	results <- spin(3000000) & 1
}

func main() {
	results := make(chan int)
	var group sync.WaitGroup
	for id := 1; id <= 4; id++ {
		group.Add(1)
		go worker(id, results, &group)
	}
	go func() {
		group.Wait()
		close(results)
	}()
	total := 0
	for result := range results {
		total += result
	}
	runtime.GC()
	fmt.Println(total, deep(5000), caught())
}
