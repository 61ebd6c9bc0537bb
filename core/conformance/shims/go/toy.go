// A toy port: p2c[b,h,i,j] = k[b,h,j] . q_r[h, index[i][j]], by plain loops.
// usage: toy [--slip | --copy] CASE_FOLDER [DUMP_FILE]     --slip makes a mistake, --copy only copies the inputs
// Without a file the dump goes to standard output as frames; nothing is written for a case of another term.
package main

import (
	"flag"
	"fmt"
	"os"
)

func p2c(inputs map[string]Tensor, slip bool) Tensor {
	shape, rows := inputs["layer.0.k"].Shape, inputs["layer.0.q_r"].Shape[1]
	k, q, index := inputs["layer.0.k"].Values(), inputs["layer.0.q_r"].Values(), inputs["relative.index"].Values()
	batch, heads, keys, width := shape[0], shape[1], shape[2], shape[3]
	queries := inputs["relative.index"].Shape[0]
	term := make([]float64, 0, batch*heads*queries*keys)
	for n := 0; n < batch*heads*queries*keys; n++ {
		j, i, h, b := n%keys, n/keys%queries, n/keys/queries%heads, n/keys/queries/heads
		row := int(index[i*keys+j])
		if slip {
			row = int(index[j*queries+i])
		}
		sum := 0.0
		for c := 0; c < width; c++ {
			sum += k[((b*heads+h)*keys+j)*width+c] * q[(h*rows+row)*width+c]
		}
		term = append(term, sum)
	}
	return NewTensor([]int{batch, heads, queries, keys}, term)
}

func run(folder, target string, slip, copies bool) error {
	c, err := LoadCase(folder)
	if err != nil {
		return err
	}
	if in := c.Inputs; !copies {
		c.Inputs = map[string]Tensor{}
		if in["layer.0.k"].Bytes != nil && in["layer.0.q_r"].Bytes != nil && in["relative.index"].Bytes != nil {
			c.Inputs["layer.0.p2c"] = p2c(in, slip)
		}
	}
	if target != "" && len(c.Inputs) > 0 {
		return Dump(target, c.Inputs)
	}
	_, err = os.Stdout.Write(Frames(c.Inputs))
	return err
}

func main() {
	slip := flag.Bool("slip", false, "make a mistake")
	copies := flag.Bool("copy", false, "only copy the inputs")
	flag.Parse()
	if err := run(flag.Arg(0), flag.Arg(1), *slip, *copies); err != nil {
		fmt.Fprintln(os.Stderr, "toy:", err)
		os.Exit(3)
	}
}
