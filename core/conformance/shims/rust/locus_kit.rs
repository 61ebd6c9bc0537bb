//! Locus kit in Rust, std only: read a case, write a dump.  Copy this file into your project.
//!     let c = locus_kit::case("kit/cases/L1/p2c")?;       // c.inputs["layer.0.k"].values()?, .shape; c.config("span")
//!     locus_kit::dump("dumps/L1/p2c.safetensors", &[("layer.0.p2c", Tensor::f32(&[2, 3, 6, 6], &values))])?;
#![allow(dead_code)] use std::{collections::BTreeMap, fs, mem::size_of, path::Path};
#[derive(Clone)] pub struct Tensor { pub dtype: String, pub shape: Vec<usize>, pub bytes: Vec<u8> } // little-endian
pub struct Case { pub json: String, pub inputs: BTreeMap<String, Tensor> }
macro_rules! types { ($($t:ident $name:literal),*) => { impl Tensor {
    $(pub fn $t(shape: &[usize], values: &[$t]) -> Tensor {
        Tensor { dtype: $name.into(), shape: shape.into(), bytes: values.iter().flat_map(|x| x.to_le_bytes()).collect() }
    })* pub fn values(&self) -> Result<Vec<f64>, String> { match self.dtype.as_str() { // of F16 and BF16 use the bytes
        $($name => Ok(self.bytes.chunks_exact(size_of::<$t>()).map(|x| $t::from_le_bytes(x.try_into().unwrap()) as f64).collect()),)*
        other => Err(format!("{other} has no number type in std; use its bytes")),
} } } } } types!(f64 "F64", f32 "F32", i64 "I64", i32 "I32");
fn tokens(json: &str) -> Vec<(i32, String)> { // strings (with a quote in front), numbers and words, each with its depth
    let (mut list, mut depth) = (Vec::new(), 0);
    for (n, piece) in json.replace("\\\\", "").replace("\\\"", "").split('"').enumerate() {
        if n % 2 == 1 { list.push((depth, format!("\"{piece}"))) }
        else { for part in piece.split_inclusive(|c| "{[]},:".contains(c)) {
            list.push((depth, part.trim_matches(|c| " \t\r\n{[]},:".contains(c)).into()));
            depth += part.ends_with(['{', '[']) as i32 - part.ends_with(['}', ']']) as i32;
        } }
    }
    list.into_iter().filter(|t: &(i32, String)| !t.1.is_empty()).collect()
}
fn parse(data: &[u8]) -> Option<BTreeMap<String, Tensor>> {
    let start = u64::from_le_bytes(data.get(..8)?.try_into().ok()?).checked_add(8)? as usize;
    let list = tokens(std::str::from_utf8(data.get(8..start)?).ok()?);
    list.iter().enumerate().filter(|(_, t)| t.0 == 1 && t.1 != "\"__metadata__").map(|(n, (_, name))| {
        let after = |key| list[n + 1..].iter().take_while(|t| t.0 > 1).map(|t| &t.1).skip_while(move |t| *t != key).skip(1);
        let numbers = |key| after(key).map_while(|t| t.parse().ok()).collect::<Vec<usize>>();
        let (dtype, shape, at) = (after("\"dtype").next()?[1..].into(), numbers("\"shape"), numbers("\"data_offsets"));
        Some((name[1..].into(), Tensor { dtype, shape, bytes: data[start..].get(*at.first()?..*at.get(1)?)?.into() }))
    }).collect()
}
fn told<T>(p: &Path, result: std::io::Result<T>) -> Result<T, String> { result.map_err(|e| format!("{}: {e}", p.display())) }
pub fn read(path: &Path) -> Result<BTreeMap<String, Tensor>, String> {
    parse(&told(path, fs::read(path))?).ok_or(format!("{}: not a whole safetensors file", path.display()))
}
pub fn case(folder: &str) -> Result<Case, String> {
    let [json, inputs] = ["case.json", "inputs.safetensors"].map(|name| Path::new(folder).join(name));
    Ok(Case { json: told(&json, fs::read_to_string(&json))?, inputs: read(&inputs)? })
}
impl Case { pub fn config(&self, key: &str) -> Option<String> {
    tokens(&self.json).into_iter().map(|t| t.1.replace('"', "")).skip_while(|t| t != "config").skip_while(|t| t != key).nth(1)
} }
pub fn frames(stages: &[(&str, Tensor)]) -> Vec<u8> { // for standard output: name\0dtype\0shape\0bytes
    let shape = |t: &Tensor| format!("{:?}", t.shape).replace(['[', ']', ' '], "");
    stages.iter().flat_map(|(n, t)| [format!("{n}\0{}\0{}\0", t.dtype, shape(t)).as_bytes(), &t.bytes].concat()).collect()
}
pub fn dump(path: impl AsRef<Path>, stages: &[(&str, Tensor)]) -> Result<(), String> {
    let (mut entries, mut values, path) = (Vec::new(), Vec::new(), path.as_ref());
    for (name, Tensor { dtype, shape, bytes }) in stages {
        let at = [values.len(), (values.extend(bytes), values.len()).1];
        entries.push(format!("{name:?}:{{\"dtype\":{dtype:?},\"shape\":{shape:?},\"data_offsets\":{at:?}}}"));
    }
    let (header, part) = (format!("{{{}}}", entries.join(",")).into_bytes(), path.with_extension("part"));
    let _ = fs::create_dir_all(path.parent().unwrap_or(path)); // where it fails, writing says so
    let data = [&(header.len() as u64).to_le_bytes()[..], &header, &values].concat();
    told(path, fs::write(&part, data).and_then(|_| fs::rename(&part, path)))
}
