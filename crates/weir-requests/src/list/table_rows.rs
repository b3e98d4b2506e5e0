//! The rows of a table in the order in which requests take them.

use std::sync::Arc;

use crate::list::order::{below, mixed};
use crate::list::table::Table;

/// The order in which requests take the rows of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RowOrder {
    /// Row i mod rows for the request with index i.
    Sequential,
    /// At random.
    Random,
    /// Each connection has a row of its own.
    Unique,
}

/// The rows of a table, in an order.
#[derive(Clone, Debug)]
pub struct TableRows {
    /// The table.
    pub table: Arc<Table>,
    /// The order.
    pub order: RowOrder,
}

impl TableRows {
    /// Returns the row of the request with this index on connection `connection` of the run.
    pub fn row(&self, seed: u64, index: u64, connection: u64) -> &[Box<[u8]>] {
        self.table.row(self.number(seed, index, connection))
    }

    /// Returns the number of that row, from 0.
    pub fn number(&self, seed: u64, index: u64, connection: u64) -> u64 {
        let rows = self.table.rows();
        match self.order {
            RowOrder::Sequential => index % rows,
            RowOrder::Random => below(rows, mixed(seed ^ 0x7061_7373, index)),
            RowOrder::Unique => connection % rows,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> Table {
        Table::parse(b"user,pass\nann,1\nbob,2\n").expect("a table")
    }

    #[test]
    fn rows_have_an_order() {
        let rows = |order| TableRows { table: Arc::new(table()), order };
        let user = |order, index, connection| rows(order).row(3, index, connection)[0].to_vec();
        assert_eq!(user(RowOrder::Sequential, 3, 0), b"bob");
        assert_eq!(user(RowOrder::Unique, 3, 2), b"ann");
        let random: Vec<Vec<u8>> = (0..64).map(|i| user(RowOrder::Random, i, 0)).collect();
        assert!(random.contains(&b"ann".to_vec()) && random.contains(&b"bob".to_vec()));
    }
}
