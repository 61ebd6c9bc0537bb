// Locus kit in Go, standard library only: read a case, write a dump.  Copy this file into your package.
//	c, err := LoadCase("kit/cases/L1/p2c")      // c.Config["span"], c.Inputs["layer.0.k"].Shape, .Values()
//	err = Dump("dumps/L1/p2c.safetensors", map[string]Tensor{"layer.0.p2c": NewTensor([]int{2, 3, 6, 6}, values)})
//	os.Stdout.Write(Frames(stages))             // the same as a stream: name\0dtype\0shape\0bytes, little-endian
package main // or yours
import ("bytes"; "encoding/binary"; "encoding/json"; "fmt"; "os"; "path/filepath"; "strings")
type Tensor struct { Dtype string `json:"dtype"`; Shape []int `json:"shape"`; At [2]int64 `json:"data_offsets"`; Bytes []byte `json:"-"` }
type Case struct { Config map[string]any; Inputs map[string]Tensor `json:"-"` }
func NewTensor[T float64 | float32 | int64 | int32](shape []int, values []T) Tensor {
	var buffer bytes.Buffer; binary.Write(&buffer, binary.LittleEndian, values) // never fails on a Buffer
	return Tensor{Dtype: strings.NewReplacer("float", "F", "int", "I").Replace(fmt.Sprintf("%T", *new(T))), Shape: shape, Bytes: buffer.Bytes()}
}
func widened[T float64 | float32 | int64 | int32](data []byte) (wide []float64) {
	values := make([]T, len(data)/binary.Size(*new(T)))
	binary.Read(bytes.NewReader(data), binary.LittleEndian, values) // as long as the data
	for _, value := range values { wide = append(wide, float64(value)) }
	return wide
}
func (t Tensor) Values() []float64 { // nil for F16 and BF16, which Go does not have
	types := map[string]func([]byte) []float64{"F64": widened[float64], "F32": widened[float32], "I64": widened[int64], "I32": widened[int32]}
	if widen := types[t.Dtype]; widen != nil { return widen(t.Bytes) }; return nil
}
func Read(path string) (map[string]Tensor, error) {
	data, err := os.ReadFile(path)
	tensors, broken := map[string]Tensor{}, fmt.Errorf("%s: not a whole safetensors file", path)
	if err != nil { return nil, err }
	if len(data) < 8 || binary.LittleEndian.Uint64(data) > uint64(len(data)-8) { return nil, broken }
	header, values := map[string]json.RawMessage{}, data[8+binary.LittleEndian.Uint64(data):]
	if json.Unmarshal(data[8:len(data)-len(values)], &header) != nil { return nil, broken }
	delete(header, "__metadata__")
	for name, text := range header {
		var t Tensor
		if json.Unmarshal(text, &t) != nil || t.At[0] < 0 || t.At[0] > t.At[1] || t.At[1] > int64(len(values)) { return nil, broken }
		tensors[name] = Tensor{t.Dtype, t.Shape, t.At, values[t.At[0]:t.At[1]]}
	}
	return tensors, nil
}
func LoadCase(folder string) (c Case, err error) {
	text, err := os.ReadFile(filepath.Join(folder, "case.json"))
	if err == nil && json.Unmarshal(text, &c) != nil { err = fmt.Errorf("%s/case.json: not JSON with a config", folder) }
	if err == nil { c.Inputs, err = Read(filepath.Join(folder, "inputs.safetensors")) }
	return c, err
}
func Dump(path string, stages map[string]Tensor) error {
	header, values := map[string]Tensor{}, []byte{}
	for name, t := range stages {
		header[name] = Tensor{t.Dtype, t.Shape, [2]int64{int64(len(values)), int64(len(values) + len(t.Bytes))}, nil}
		values = append(values, t.Bytes...)
	}
	os.MkdirAll(filepath.Dir(path), 0o777) // where it fails, writing says so
	text, _ := json.Marshal(header)        // never fails on strings and numbers
	data := append(append(binary.LittleEndian.AppendUint64(nil, uint64(len(text))), text...), values...)
	if err := os.WriteFile(path+".part", data, 0o666); err != nil { return err }
	return os.Rename(path+".part", path)
}
func Frames(stages map[string]Tensor) (all []byte) {
	axes := strings.NewReplacer("[", "", "]", "", " ", ",")
	for name, t := range stages { all = append(append(all, name+"\x00"+t.Dtype+"\x00"+axes.Replace(fmt.Sprint(t.Shape))+"\x00"...), t.Bytes...) }
	return
}
