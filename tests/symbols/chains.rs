// chains.rs: inlining as Rust has it: traits, closures, iterators, the standard library.
use std::collections::{BTreeMap, HashMap};
mod shapes {
    pub trait Area { fn area(&self) -> f64; }
    pub struct Square(pub f64);
    impl Area for Square { #[inline] fn area(&self) -> f64 { self.0 * self.0 } }
    pub struct Circle(pub f64);
    impl Area for Circle { fn area(&self) -> f64 { 3.14 * self.0 * self.0 } }
}
use shapes::*;
fn total<T: Area>(v: &[T]) -> f64 { v.iter().map(|s| s.area()).sum() }
#[inline(never)]
fn words(text: &str) -> HashMap<String, usize> {
    let mut m = HashMap::new();
    for w in text.split_whitespace() { *m.entry(w.to_string()).or_insert(0) += 1; }
    m
}
fn main() {
    let mut b = BTreeMap::new();
    for (w, n) in words("a b c a b a") { b.insert(n, w); }
    println!("{:?} {} {}", b, total(&[Square(2.0), Square(3.0)]), total(&[Circle(1.0)]));
}
