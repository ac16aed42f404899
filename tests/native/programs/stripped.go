// stripped.go: recursion, closures, calls through interfaces and goroutines; each function is called a
// known number of times.
package main

import (
	"fmt"
	"sort"
	"strings"
)

type shape interface{ area() int }
type square struct{ side int }
type strip struct{ length, width int }

//go:noinline
func (s square) area() int { return s.side * s.side }

//go:noinline
func (s *strip) area() int { return s.length * s.width }

//go:noinline
func fib(n int) int {
	if n < 2 {
		return n
	}
	return fib(n-1) + fib(n-2)
}

//go:noinline
func sum(shapes []shape) (total int) {
	for _, one := range shapes {
		total += one.area()
	}
	return total
}

//go:noinline
func deep(n int) int {
	var room [64]int
	room[n%64] = n
	if n == 0 {
		return 0
	}
	return deep(n-1) + room[n%64]
}

func main() {
	shapes := []shape{}
	for i := 0; i < 300; i++ {
		if i%3 == 0 {
			shapes = append(shapes, &strip{i, 2})
		} else {
			shapes = append(shapes, square{i})
		}
	}
	sort.Slice(shapes, func(i, j int) bool { return shapes[i].area() < shapes[j].area() })
	results := make(chan int)
	for i := 0; i < 4; i++ {
		go func(n int) { results <- fib(n) + deep(100*n) }(10 + i)
	}
	total := 0
	for i := 0; i < 4; i++ {
		total += <-results
	}
	fmt.Println(sum(shapes), total, strings.Repeat("x", total%10))
}
