//! The cart. With more.
#![allow(dead_code)]

use std::{collections::HashMap, fmt::{self, Display as Show}};
use crate::pricing::{Money, rates::{self, Kind as RateKind}, util::*};
use super::store::Shelf;
use self::inner::Deep;
use serde::Serialize;
pub use crate::errors::CartError;

mod lines;
pub(crate) mod inner {
    pub struct Deep(pub u8);
    impl super::Priced for Deep { fn price(&self) -> super::Money { super::helper(self.0.into()) } }
}

/// What a cart holds at most.
/// Second line.
pub const MAX: usize = 10;
static mut COUNT: u32 = 0;
pub type Result<T, E = CartError> = std::result::Result<T, E>;

/// A cart's line.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Line<'a, T: Priced + 'a> where T: Clone {
    /// The price.
    pub price: Money,
    pub(crate) item: &'a T,
    r#type: Option<Box<dyn Fn(&T) -> bool>>,
}
struct Unit;
pub struct Pair(pub Money, u8);
pub union Bits { f: f32, u: u32 }

pub enum State { Open, Closed { at: u64, by: Money }, #[allow(unused)] Gone(String, Deep) = 3 }

/// What has a price.
pub trait Priced: fmt::Debug + Send {
    type Unit: Default;
    const RATE: f64;
    fn price(&self) -> Money;
    /// Adds tax.
    fn with_tax(&self, rate: f64) -> Money { self.price() * rate + rates::base::<f64>(Self::RATE) }
}

impl<'a, T: Priced + Clone> Line<'a, T> {
    pub const EMPTY: &'static str = "fn fake() {}";
    /// Makes one.
    #[inline]
    pub fn new(price: Money, MAX: usize) -> Self { Line { price, item: todo!(), r#type: None } }
    pub async unsafe fn total<F>(&mut self, f: F) -> Result<Money> where F: FnOnce(&T) -> Money {
        let helper = |x: Money| x + 1;
        let Line { price, item: other, .. } = self;
        if let Some(rates) = other.find(*price) { rates.apply(helper(1)); }
        for lines in 0..MAX { self.recompute(lines)?; }
        match self.state() {
            State::Open => State::Closed { at: 1, by: Money::zero() },
            State::Closed { at, .. } if at > 3 => helper(at),
            kind @ (State::Gone(_, _)) => kind,
        };
        let c = 'x'; let q = '\''; let raw = r#"fn fake2() { " }"#; let b = b'"';
        let v = Vec::<u8>::with_capacity(MAX).iter().map(|n| Self::new(*n, 1)).collect::<Vec<_>>();
        println!("{} {}", helper(2), format_money!(price));
        Ok(f(other))
    }
    fn recompute(&self, n: usize) -> Result<()> { Ok(()) }
}

impl<T> Show for Line<'_, T> where T: Priced { fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result { write!(f, "x") } }
impl From<Money> for State { fn from(m: Money) -> Self { State::Open } }
impl<T: ?Sized> Priced for &T { type Unit = (); const RATE: f64 = 1.0; fn price(&self) -> Money { Money::zero() } }
impl Shelf for rates::Table { fn open(&self) {} }

pub(super) fn helper(n: u64) -> Money { if (n as usize) < MAX { Money::from(n) } else { fallback(n) } }
extern "C" { fn c_call(x: *const u8) -> i32; pub static ENV: u8; }
pub extern "C" fn exported() {}

/// Formats.
#[macro_export]
macro_rules! format_money { ($x:expr) => { $crate::helper($x) }; }

/* outer /* nested fn no() {} */ still */
#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn helper_works() { assert_eq!(helper(1), Money::from(1)); }

    #[tokio::test]
    async fn line_total() { Line::new(Money::zero(), MAX).total(|_| Money::zero()).await; }
}
