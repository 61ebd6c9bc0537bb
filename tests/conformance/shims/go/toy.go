// A toy port: p2c[b,h,i,j] = k[b,h,j] . q_r[h, index[i][j]], by plain loops.
// usage: toy CASE_FOLDER DUMP_FILE|- [--slip | --copy]     --slip makes a mistake, --copy only copies the inputs
package main

import (
	"fmt"
	"os"
)

func p2c(inputs map[string]Tensor, slip bool) (Tensor, error) {
	for _, name := range []string{"layer.0.k", "layer.0.q_r", "relative.index"} {
		if inputs[name].Values() == nil {
			return Tensor{}, fmt.Errorf("the inputs hold no %s", name)
		}
	}
	shape, rows := inputs["layer.0.k"].Shape, inputs["layer.0.q_r"].Shape[1]
	k, q, index := inputs["layer.0.k"].Values(), inputs["layer.0.q_r"].Values(), inputs["relative.index"].Values()
	batch, heads, tokens, width := shape[0], shape[1], shape[2], shape[3]
	term := make([]float64, 0, batch*heads*tokens*tokens)
	for n := 0; n < batch*heads*tokens*tokens; n++ {
		j, i, h, b := n%tokens, n/tokens%tokens, n/tokens/tokens%heads, n/tokens/tokens/heads
		row := int(index[i*tokens+j])
		if slip {
			row = int(index[j*tokens+i])
		}
		sum := 0.0
		for c := 0; c < width; c++ {
			sum += k[((b*heads+h)*tokens+j)*width+c] * q[(h*rows+row)*width+c]
		}
		term = append(term, sum)
	}
	return NewTensor([]int{batch, heads, tokens, tokens}, term), nil
}

func run(folder, target, option string) error {
	c, err := LoadCase(folder)
	stages := c.Inputs
	if err == nil && option != "--copy" {
		stages = map[string]Tensor{}
		stages["layer.0.p2c"], err = p2c(c.Inputs, option == "--slip")
	}
	if err != nil {
		return err
	}
	if target == "-" {
		_, err = os.Stdout.Write(Frames(stages))
		return err
	}
	return Dump(target, stages)
}

func main() {
	arguments := append(os.Args[1:], "", "", "")
	if err := run(arguments[0], arguments[1], arguments[2]); err != nil {
		fmt.Fprintln(os.Stderr, "toy:", err)
		os.Exit(3)
	}
}
