// Reads a history of registers as JSON lines from standard input and tells whether it is
// linearizable. Prints "ok N" for N keys, or the keys without an order.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"time"

	"github.com/anishathalye/porcupine"
)

type operation struct {
	Process  int    `json:"process"`
	Kind     string `json:"kind"` // read, put, swap
	Key      string `json:"key"`
	Value    int    `json:"value"`    // put and swap: what was written; read: what was found
	Expected int    `json:"expected"` // swap: what had to be there
	Outcome  string `json:"outcome"`  // ok, refused, unknown
	Called   int64  `json:"called"`
	Returned int64  `json:"returned"`
}

// The state of a register is its value; 0 means that there is no item.
var register = porcupine.Model{
	Init: func() interface{} { return 0 },
	Step: func(state, input, output interface{}) (bool, interface{}) {
		value := state.(int)
		op := input.(operation)
		switch op.Kind {
		case "read":
			return value == op.Value, value
		case "put":
			return true, op.Value
		default: // swap
			switch op.Outcome {
			case "ok":
				return value == op.Expected, op.Value
			case "refused":
				return value != op.Expected, value
			default:
				if value == op.Expected {
					return true, op.Value
				}
				return true, value
			}
		}
	},
}

func main() {
	histories := map[string][]porcupine.Operation{}
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(make([]byte, 1<<20), 1<<20)
	for lines.Scan() {
		var op operation
		if err := json.Unmarshal(lines.Bytes(), &op); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(2)
		}
		histories[op.Key] = append(histories[op.Key], porcupine.Operation{
			ClientId: op.Process, Input: op, Call: op.Called, Return: op.Returned,
		})
	}
	wrong := 0
	for key, history := range histories {
		switch porcupine.CheckOperationsTimeout(register, history, time.Minute) {
		case porcupine.Illegal:
			fmt.Printf("illegal %s (%d operations)\n", key, len(history))
			wrong++
		case porcupine.Unknown:
			fmt.Printf("undecided %s (%d operations)\n", key, len(history))
			wrong++
		}
	}
	if wrong == 0 {
		fmt.Printf("ok %d\n", len(histories))
	}
}
