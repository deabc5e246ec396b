//! Typed tables: columns as name, unit and the function that takes a row to its value. How a value looks is the
//! renderer's.

use frostline_score::{MeanInterval, MeanStd, ShareInterval};

/// A value of a table.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum TableValue {
    /// There is no such value.
    Missing,
    Text(String),
    Truth(bool),
    Count(i128),
    Number(f64),
    /// A mean over seeds with its standard deviation.
    Spread(MeanStd),
    /// A mean over seeds with its interval.
    Mean(MeanInterval),
    /// Two ends.
    Range([f64; 2]),
    /// A number with its standard error.
    Error(f64, Option<f64>),
}

impl TableValue {
    /// Returns a count that 64 bits with a sign can hold.
    pub fn as_whole(&self) -> Option<i64> {
        match self {
            Self::Count(count) => i64::try_from(*count).ok(),
            _ => None,
        }
    }

    /// Returns a finite number.
    pub fn as_real(&self) -> Option<f64> {
        match self {
            Self::Number(value) => Some(*value).filter(|value| value.is_finite()),
            Self::Count(count) => Some(*count as f64),
            _ => None,
        }
    }
}

/// The unit of a value, and its number of decimals.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Quantity {
    /// Words.
    Text,
    /// Yes or no.
    Truth,
    /// A whole number.
    Count,
    /// A share of 1, shown in percent with so many decimals.
    Percent(usize),
    /// The same in a column whose name has the unit.
    Share(usize),
    /// A difference of shares of 1, shown in points of a percent with its sign.
    Points(usize),
    /// The same in a column whose name has the unit.
    Change(usize),
    /// A difference of shares that is shown as a percentage with its sign.
    SignedPercent(usize),
    /// Half the width of an interval, in points.
    HalfWidth(usize),
    /// Measured, with about three digits, and the unit's sign.
    Measured(&'static str),
    /// The same with at least one decimal.
    Fine(&'static str),
    /// A number with so many decimals, and the unit's sign.
    Number(usize, &'static str),
    /// A number with its sign and so many decimals.
    Signed(usize),
    /// The probability that a test gives.
    Probability,
    /// A number in a file for programs, neither rounded nor in another unit.
    Exact,
}

impl Quantity {
    /// A value as tables show it. A difference is shown without its standard deviation, which could be taken for its interval.
    fn shown(self, value: TableValue) -> TableValue {
        match (self, value) {
            (Self::Points(_) | Self::Change(_), TableValue::Spread(stat)) => TableValue::Number(stat.mean),
            (_, value) => value,
        }
    }

    /// Whether its values are words.
    pub const fn is_text(self) -> bool {
        matches!(self, Self::Text | Self::Truth)
    }

    /// What follows a column's name.
    pub fn suffix(self) -> String {
        match self {
            Self::Percent(_) | Self::SignedPercent(_) => " %".into(),
            Self::Points(_) => ", points".into(),
            Self::Measured(sign) | Self::Fine(sign) | Self::Number(_, sign) if sign.starts_with('/') => {
                sign.into()
            }
            Self::Measured(sign) | Self::Fine(sign) | Self::Number(_, sign) if !sign.is_empty() => {
                format!(" {sign}")
            }
            _ => String::new(),
        }
    }
}

/// A column's name and unit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ColumnHead {
    pub name: String,
    pub unit: Quantity,
    /// 0 is always shown. Others are omitted if they are empty; a narrow terminal omits the highest first.
    pub rank: u8,
    /// Whether an aligned table has a value in this column, so that it is shown here too.
    pub in_use: bool,
}

/// A column: its head, and the way from a row to its value.
struct TableColumn<'a, R> {
    head: ColumnHead,
    get: Box<dyn Fn(&R) -> TableValue + 'a>,
}

/// The columns of a table whose rows are made from `R`.
pub(crate) struct TableColumns<'a, R> {
    columns: Vec<TableColumn<'a, R>>,
}

impl<R> Default for TableColumns<'_, R> {
    fn default() -> Self {
        Self { columns: Vec::new() }
    }
}

impl<'a, R> TableColumns<'a, R> {
    /// Adds a column that is always shown.
    pub fn column<V: Into<TableValue>>(
        self,
        name: impl Into<String>,
        unit: Quantity,
        get: impl Fn(&R) -> V + 'a,
    ) -> Self {
        self.ranked(0, name, unit, get)
    }

    /// Adds a column that is omitted if it has no value.
    pub fn optional<V: Into<TableValue>>(
        self,
        name: impl Into<String>,
        unit: Quantity,
        get: impl Fn(&R) -> V + 'a,
    ) -> Self {
        self.ranked(1, name, unit, get)
    }

    /// Adds a column of this rank.
    pub fn ranked<V: Into<TableValue>>(
        mut self,
        rank: u8,
        name: impl Into<String>,
        unit: Quantity,
        get: impl Fn(&R) -> V + 'a,
    ) -> Self {
        let head = ColumnHead { name: name.into(), unit, rank, in_use: false };
        self.columns.push(TableColumn { head, get: Box::new(move |row| unit.shown(get(row).into())) });
        self
    }

    /// Adds a column if a condition holds.
    pub fn column_if<V: Into<TableValue>>(
        self,
        condition: bool,
        name: impl Into<String>,
        unit: Quantity,
        get: impl Fn(&R) -> V + 'a,
    ) -> Self {
        if condition { self.column(name, unit, get) } else { self }
    }

    /// Adds a column for each item.
    pub fn each<T: 'a, V: Into<TableValue>>(
        self,
        items: impl IntoIterator<Item = T>,
        name: impl Fn(&T) -> String,
        unit: Quantity,
        get: impl Fn(&R, &T) -> V + Clone + 'a,
    ) -> Self {
        items.into_iter().fold(self, |columns, item| {
            let (name, get) = (name(&item), get.clone());
            columns.column(name, unit, move |row| get(row, &item))
        })
    }

    /// Adds all columns of another list.
    pub fn and(mut self, more: Self) -> Self {
        self.columns.extend(more.columns);
        self
    }

    /// The values of a row.
    pub fn values(&self, row: &R) -> Vec<TableValue> {
        self.columns.iter().map(|column| (column.get)(row)).collect()
    }

    /// The table of these rows.
    pub fn table(self, rows: impl IntoIterator<Item = R>) -> Table {
        let rows = rows.into_iter().map(|row| self.values(&row)).collect();
        Table { heads: self.columns.into_iter().map(|column| column.head).collect(), rows }
    }
}

/// A table of typed values.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Table {
    pub heads: Vec<ColumnHead>,
    pub rows: Vec<Vec<TableValue>>,
}

impl Table {
    /// The same table with further rows, whose columns are the same.
    pub fn with_rows(mut self, more: Self) -> Self {
        debug_assert_eq!(self.heads.len(), more.heads.len());
        self.rows.extend(more.rows);
        self
    }

    /// Columns that are always shown, or have a value here or in an aligned table.
    pub fn filled(&self) -> Vec<usize> {
        let is_shown = |at: usize| self.heads[at].rank == 0 || self.heads[at].in_use || self.has_value(at);
        (0..self.heads.len()).filter(|&at| is_shown(at)).collect()
    }

    fn has_value(&self, at: usize) -> bool {
        self.rows.iter().any(|row| row[at] != TableValue::Missing)
    }

    /// Whether another table has the same columns, shown or not.
    pub fn has_columns_of(&self, other: &Self) -> bool {
        let names =
            |table: &Self| table.heads.iter().map(|head| (head.name.clone(), head.unit)).collect::<Vec<_>>();
        names(self) == names(other)
    }
}

/// Makes tables of the same columns show the same ones: a column with a value in one of them is shown in all.
pub(crate) fn align(tables: &mut [&mut Table]) {
    let in_use = |tables: &[&mut Table], one: &Table, at: usize| {
        tables.iter().any(|other| other.has_columns_of(one) && other.has_value(at))
    };
    let found: Vec<Vec<bool>> =
        tables.iter().map(|one| (0..one.heads.len()).map(|at| in_use(tables, one, at)).collect()).collect();
    for (table, in_use) in tables.iter_mut().zip(found) {
        table.heads.iter_mut().zip(in_use).for_each(|(head, in_use)| head.in_use = in_use);
    }
}

/// A table for LaTeX.
pub(crate) struct PaperTable {
    /// What `\FrostlineTable` calls it.
    pub name: String,
    /// Inline marks of Markdown are dropped.
    pub caption: String,
    pub table: Table,
    /// Whether rows belong together by their first column.
    pub grouped: bool,
    /// What `\FrostlineResult` calls its rows, in two parts; none if its numbers have no names.
    pub names: Vec<[String; 2]>,
    /// Number of columns from the left that identify a row and have no names.
    pub keys: usize,
    /// Prefix of the names of columns.
    pub prefix: String,
}

impl PaperTable {
    /// A table whose numbers have no names.
    pub fn new(name: impl Into<String>, caption: impl Into<String>, table: Table) -> Self {
        let (name, caption, prefix) = (name.into(), caption.into(), String::new());
        Self { name, caption, table, grouped: false, names: Vec::new(), keys: 0, prefix }
    }

    /// The same with names of its rows, whose first `keys` columns have none, and a prefix of the names of columns.
    pub fn named(self, names: Vec<[String; 2]>, keys: usize, prefix: impl Into<String>) -> Self {
        Self { names, keys, prefix: prefix.into(), ..self }
    }

    /// The same if the words of the first columns are a row's name, besides this first part of it.
    pub fn named_by_row(self, first: &str, prefix: impl Into<String>) -> Self {
        let heads = self.table.heads.iter();
        let keys = heads.take_while(|head| head.unit.is_text()).count().max(1);
        let word = |value: &TableValue| match value {
            TableValue::Text(text) => Some(text.replace(['*', '`'], "")),
            _ => None,
        };
        let name = |row: &Vec<TableValue>| {
            let words: Vec<String> = row.iter().take(keys).filter_map(word).collect();
            [first.to_string(), words.join("/")]
        };
        let names = self.table.rows.iter().map(name).collect();
        self.named(names, keys, prefix)
    }
}

macro_rules! value_from {
    ($($from:ty: |$value:ident| $made:expr,)*) => {$(
        impl From<$from> for TableValue {
            fn from($value: $from) -> Self {
                $made
            }
        }
    )*};
}

value_from! {
    u64: |value| Self::Count(value.into()),
    u32: |value| Self::Count(value.into()),
    i64: |value| Self::Count(value.into()),
    usize: |value| Self::Count(value as i128),
    f64: |value| Self::Number(value),
    bool: |value| Self::Truth(value),
    String: |text| Self::Text(text),
    &str: |text| Self::Text(text.into()),
    MeanStd: |value| Self::Spread(value),
    MeanInterval: |value| Self::Mean(value),
    ShareInterval: |value| Self::Range([value.low, value.high]),
    [f64; 2]: |ends| Self::Range(ends),
}

impl<T: Into<Self>> From<Option<T>> for TableValue {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Missing, Into::into)
    }
}
