//! The identity of a row of a table.

/// A language, a policy and the values of the further axes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PolicyPlace<'a> {
    pub lang: &'a str,
    pub policy: &'a str,
    /// In the order of the axes.
    pub extras: &'a [String],
}

/// Something that is about one policy in one language.
pub(crate) trait Placed {
    fn place(&self) -> PolicyPlace<'_>;
}

impl<T: Placed> Placed for &T {
    fn place(&self) -> PolicyPlace<'_> {
        (**self).place()
    }
}

/// Implements `Placed` for a struct with these three fields, or for a tuple whose first part is placed.
macro_rules! placed {
    (struct $($name:ty),*) => {$(
        impl $crate::study::place::Placed for $name {
            fn place(&self) -> $crate::study::place::PolicyPlace<'_> {
                let Self { lang, policy, extras, .. } = self;
                $crate::study::place::PolicyPlace { lang, policy, extras }
            }
        }
    )*};
    (tuple $(($($rest:ident),*))*) => {$(
        impl<A: Placed, $($rest),*> Placed for (A, $($rest),*) {
            fn place(&self) -> PolicyPlace<'_> {
                self.0.place()
            }
        }
    )*};
}

pub(crate) use placed;

placed!(tuple(B)(B, C)(B, C, D, E));
