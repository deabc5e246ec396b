//! Typed columns for programs: what `results.csv` and `results.parquet` hold. Values are neither rounded nor grouped, and
//! every value may be missing.

/// The values of a column, all of one type.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Values {
    Text(Vec<Option<String>>),
    Whole(Vec<Option<i64>>),
    Real(Vec<Option<f64>>),
    Truth(Vec<Option<bool>>),
}

/// A column with its name.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct SheetColumn {
    /// In snake case, with the unit where there is one.
    pub name: String,
    pub values: Values,
}

/// Columns of one length.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Sheet {
    pub columns: Vec<SheetColumn>,
    pub rows: usize,
}

/// A function from a row to a value that may be missing.
type Optional<'a, R, T> = Box<dyn Fn(&R) -> Option<T> + 'a>;

/// The way from a row to a value of a column, which gives the column its type.
pub(crate) enum Get<'a, R> {
    Text(Optional<'a, R, String>),
    Whole(Optional<'a, R, i64>),
    Real(Optional<'a, R, f64>),
    Truth(Optional<'a, R, bool>),
}

/// The columns of a sheet whose rows are made from `R`.
pub(crate) struct Fields<'a, R> {
    fields: Vec<(String, Get<'a, R>)>,
}

impl<'a, R> Fields<'a, R> {
    /// No columns yet.
    pub const fn new() -> Self {
        Self { fields: Vec::new() }
    }

    /// Adds a column.
    pub fn with(mut self, name: impl Into<String>, get: Get<'a, R>) -> Self {
        self.fields.push((name.into(), get));
        self
    }

    /// Adds a column of words.
    pub fn text<T: Into<String>>(self, name: &str, get: impl Fn(&R) -> Option<T> + 'a) -> Self {
        self.with(name, Get::Text(Box::new(move |row| get(row).map(Into::into))))
    }

    /// Adds a column of whole numbers. One above what 64 bits with a sign can hold is missing.
    pub fn whole<T: TryInto<i64>>(self, name: &str, get: impl Fn(&R) -> Option<T> + 'a) -> Self {
        self.with(name, Get::Whole(Box::new(move |row| get(row).and_then(|value| value.try_into().ok()))))
    }

    /// Adds a column of numbers. One that is not finite is missing.
    pub fn real(self, name: &str, get: impl Fn(&R) -> Option<f64> + 'a) -> Self {
        self.with(name, Get::Real(Box::new(move |row| get(row).filter(|value| value.is_finite()))))
    }

    /// Adds a column of yes and no.
    pub fn truth(self, name: &str, get: impl Fn(&R) -> Option<bool> + 'a) -> Self {
        self.with(name, Get::Truth(Box::new(get)))
    }

    /// Adds all columns of another list.
    pub fn and(mut self, more: Self) -> Self {
        self.fields.extend(more.fields);
        self
    }

    /// The sheet of these rows.
    pub fn sheet(self, rows: &[R]) -> Sheet {
        let column = |(name, get): (String, Get<'a, R>)| {
            let values = match get {
                Get::Text(get) => Values::Text(rows.iter().map(get).collect()),
                Get::Whole(get) => Values::Whole(rows.iter().map(get).collect()),
                Get::Real(get) => Values::Real(rows.iter().map(get).collect()),
                Get::Truth(get) => Values::Truth(rows.iter().map(get).collect()),
            };
            SheetColumn { name, values }
        };
        Sheet { columns: self.fields.into_iter().map(column).collect(), rows: rows.len() }
    }
}
