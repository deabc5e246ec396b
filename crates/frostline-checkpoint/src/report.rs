//! A comparison as a table for people.

use std::fmt;

use crate::compare::{CheckpointComparison, TensorChange, TensorKind, TensorRow};

/// The most names that are listed under one heading.
const MOST_ROWS: usize = 10;

impl CheckpointComparison {
    /// Returns the rows of one kind of one part of the rule.
    fn select_rows(&self, kind: TensorKind, frozen: bool) -> impl Iterator<Item = &TensorRow> {
        self.rows.iter().filter(move |row| row.kind == kind && row.frozen == frozen)
    }

    /// Prints a line of the table; nothing if it has no tensors.
    fn write_line(
        &self,
        f: &mut fmt::Formatter<'_>,
        title: &str,
        kind: TensorKind,
        frozen: bool,
    ) -> fmt::Result {
        let count =
            |is: &dyn Fn(&TensorRow) -> bool| self.select_rows(kind, frozen).filter(|row| is(row)).count();
        let all = count(&|_| true);
        if all == 0 {
            return Ok(());
        }
        let same = count(&|row| row.change.is_same());
        let moved = count(&|row| matches!(row.change, TensorChange::Moved(_) | TensorChange::Adapted(_)));
        let other = all - same - moved;
        let differences =
            self.select_rows(kind, frozen).filter_map(|row| Some((row, row.change.numeric_difference()?)));
        let largest = differences.max_by(|(_, a), (_, b)| a.largest.total_cmp(&b.largest));
        let largest = largest.map_or(String::new(), |(row, difference)| {
            format!("{:.1e}  {} {:?}", difference.largest, row.name, difference.at)
        });
        let line = format!("{title:<18}{all:>7}{same:>7}{moved:>7}{other:>7}   {largest}");
        writeln!(f, "{}", line.trim_end())
    }

    /// Prints rows under a heading.
    fn write_list<'a>(
        f: &mut fmt::Formatter<'_>,
        title: &str,
        rows: impl Iterator<Item = &'a TensorRow>,
        describe: impl Fn(&TensorRow) -> String,
    ) -> fmt::Result {
        let rows: Vec<&TensorRow> = rows.collect();
        if rows.is_empty() {
            return Ok(());
        }
        writeln!(f, "\n{title}: {}", rows.len())?;
        for row in rows.iter().take(MOST_ROWS) {
            let described = describe(row);
            let gap = if described.is_empty() { "" } else { "  " };
            writeln!(f, "  {}{gap}{described}", row.name)?;
        }
        match rows.len().checked_sub(MOST_ROWS) {
            Some(more @ 1..) => writeln!(f, "  … and {more} more (--json lists all)"),
            _ => Ok(()),
        }
    }

    /// Prints the reasons why frozen tensors moved, with the number of tensors of each.
    fn write_reasons(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut reasons: Vec<(&str, usize)> = Vec::new();
        for reason in
            self.rows.iter().filter(|row| row.is_violation()).filter_map(|row| row.reason.as_deref())
        {
            match reasons.iter_mut().find(|(known, _)| *known == reason) {
                Some((_, count)) => *count += 1,
                None => reasons.push((reason, 1)),
            }
        }
        for (reason, count) in reasons.iter().filter(|(_, count)| *count > 1) {
            writeln!(f, "  {count} of them: {reason}")?;
        }
        Ok(())
    }

    /// Prints how the optimiser's state agrees with the rule.
    fn write_optimiser(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(report) = &self.optimiser else { return Ok(()) };
        writeln!(
            f,
            "\noptimiser: {} parameters, {} with a state ({})",
            report.held, report.with_state, report.place
        )?;
        if !self.has_rule {
            return Ok(());
        }
        let names = |names: &[String]| match names {
            [] => String::new(),
            names => format!(": {}", names.join(", ")),
        };
        if report.frozen_with_state > 0 {
            let (count, names) = (report.frozen_with_state, names(&report.frozen_names));
            writeln!(
                f,
                "  {count} frozen parameters have a state: they were trained, or decay may move them{names}"
            )?;
        }
        if report.trainable_missing > 0 {
            let (count, names) = (report.trainable_missing, names(&report.missing_names));
            writeln!(
                f,
                "  {count} of {} trainable parameters are not in it: they cannot move{names}",
                report.trainable
            )?;
        }
        if report.frozen_with_state == 0 && report.trainable_missing == 0 {
            writeln!(f, "  it holds the trainable parameters and no frozen ones")?;
        }
        Ok(())
    }
}

impl fmt::Display for CheckpointComparison {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "before  {}\nafter   {}\nfrozen  {}", self.before, self.after, self.rule)?;
        for note in &self.notes {
            writeln!(f, "note    {note}")?;
        }
        writeln!(
            f,
            "\n{:<18}{:>7}{:>7}{:>7}{:>7}   largest difference",
            "", "all", "same", "moved", "other"
        )?;
        for (title, kind) in [
            ("parameters", TensorKind::Parameter),
            ("buffers", TensorKind::Buffer),
            ("adapters", TensorKind::Adapter),
        ] {
            if self.has_rule {
                self.write_line(f, &format!("frozen {title}"), kind, true)?;
                self.write_line(f, &format!("other {title}"), kind, false)?;
            } else {
                self.write_line(f, title, kind, false)?;
            }
        }
        let violating = || self.rows.iter().filter(|row| row.is_violation());
        Self::write_list(f, "FROZEN, BUT NOT THE SAME", violating(), describe_row)?;
        self.write_reasons(f)?;
        if self.has_rule {
            Self::write_list(
                f,
                "trainable, but never moved",
                self.rows.iter().filter(|row| row.is_still()),
                describe_row,
            )?;
        }
        let plain = |row: &&TensorRow| !row.is_violation();
        let of =
            |is: fn(&TensorChange) -> bool| self.rows.iter().filter(plain).filter(move |row| is(&row.change));
        let adapters = of(|change| matches!(change, TensorChange::Adapted(_)));
        Self::write_list(f, "changed by an adapter", adapters, describe_row)?;
        let explained = self
            .rows
            .iter()
            .filter(plain)
            .filter(|row| matches!(row.change, TensorChange::Moved(_)) && row.reason.is_some());
        Self::write_list(f, "moved for a visible reason", explained, describe_row)?;
        Self::write_list(
            f,
            "missing after training",
            of(|change| *change == TensorChange::Missing),
            describe_row,
        )?;
        let new = of(|change| *change == TensorChange::New);
        Self::write_list(f, "new after training", new, describe_row)?;
        Self::write_list(f, "of another shape", of(|change| *change == TensorChange::Shape), describe_row)?;
        let retyped = self.rows.iter().filter(|row| {
            row.dtype_before.is_some() && row.dtype_after.is_some() && row.dtype_before != row.dtype_after
        });
        Self::write_list(f, "of another type", retyped, |row| {
            let [before, after] =
                [row.dtype_before, row.dtype_after].map(|dtype| dtype.map_or("", |dtype| dtype.name()));
            let rounded = if row.change == TensorChange::Rounded { ", equal up to rounding" } else { "" };
            format!("{before} to {after}{rounded}")
        })?;
        if !self.ties.is_empty() {
            writeln!(f, "\ntied (one tensor with several names): {}", self.ties.len())?;
            for group in self.ties.iter().take(MOST_ROWS) {
                writeln!(f, "  {}", group.join(" = "))?;
            }
        }
        self.write_optimiser(f)?;
        let count = violating().count();
        match (self.has_rule, count) {
            (false, _) => writeln!(f, "\nno rule was given; --policy or --frozen name what must stay"),
            (true, 0) if !self.rows.iter().any(|row| row.frozen) => {
                writeln!(f, "\nthe rule freezes no tensor")
            }
            (true, 0) => {
                let frozen = self.rows.iter().filter(|row| row.frozen).count();
                writeln!(f, "\nfrozen stayed frozen: {frozen} tensors")
            }
            (true, count) => {
                let frozen = self.rows.iter().filter(|row| row.frozen).count();
                writeln!(f, "\nfrozen did NOT stay frozen: {count} of {frozen} tensors")
            }
        }
    }
}

/// Describes a row's change.
fn describe_row(row: &TensorRow) -> String {
    let reason = row.reason.as_deref().unwrap_or_default();
    let join = |what: String| if reason.is_empty() { what } else { format!("{what}; {reason}") };
    match &row.change {
        TensorChange::Moved(difference) if difference.not_finite < difference.changed => {
            let part = if difference.changed * 2 < difference.elements {
                format!(", {} of {} elements", difference.changed, difference.elements)
            } else {
                String::new()
            };
            join(format!("up to {:.1e} at {:?}{part}", difference.largest, difference.at))
        }
        TensorChange::Moved(difference) => join(format!("{} elements differ", difference.changed)),
        TensorChange::Adapted(difference) => {
            join(format!("up to {:.1e} at {:?}", difference.largest, difference.at))
        }
        TensorChange::Shape => {
            let [before, after] = [&row.shape_before, &row.shape_after]
                .map(|shape| format!("{:?}", shape.as_deref().unwrap_or_default()));
            join(format!("{before} to {after}"))
        }
        TensorChange::Uncompared => join("the types cannot be compared".into()),
        TensorChange::Missing if row.is_violation() => join("not in the file after training".into()),
        _ => reason.into(),
    }
}
