// Goroutines at all depths up to 100 call C, which allocates 100 bytes: each of them 300 times, and the last block is kept.
// Their stacks grow meanwhile, and the collector of Go moves them.
package main

/*
#include <stdlib.h>
static void *c_take(size_t n) { return malloc(n); }
*/
import "C"
import (
	"fmt"
	"sync"
	"unsafe"
)

//go:noinline
func takes(n int) unsafe.Pointer { return C.c_take(C.size_t(n)) }

//go:noinline
func deep(level, n int) unsafe.Pointer {
	if level == 0 {
		return takes(n)
	}
	var room [64]byte
	room[level%64] = 1
	p := deep(level-1, n)
	if room[0] == 7 {
		fmt.Println()
	}
	return p
}

func main() {
	var all sync.WaitGroup
	for g := 0; g < 16; g++ {
		all.Add(1)
		go func() {
			defer all.Done()
			for i := 0; i < 300; i++ {
				p := deep(i%100, 100)
				if i != 299 {
					C.free(p)
				}
				_ = make([]byte, 10000)
			}
		}()
	}
	all.Wait()
	fmt.Println("done")
}
