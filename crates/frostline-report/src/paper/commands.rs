//! The heads of `tables.tex` and `results.tex`, and the commands of LaTeX that they define.

/// The program that wrote a file.
pub(super) const MADE: &str = "Made by Frostline: `frostline report` writes it again.";

/// How to use `tables.tex`.
pub(super) const TABLES: &str = r"%
% In the preamble:
%     \usepackage[T1]{fontenc}
%     \usepackage{booktabs}
%     \input{report/results}
%     \input{report/tables}
% In the text:
%     \begin{table}\centering\FrostlineTable{results}\caption{\FrostlineCaption{results}}\end{table}
% or, to look at all of them, \FrostlineAllTables. A table that is too wide fits with \usepackage{graphicx} and
% \FrostlineFitted{\FrostlineTable{results}}. Each table's name follows `frostline@table@' below.
% pdfLaTeX cannot print letters such as those of Chinese: it shows their code points, as does any letter that T1
% lacks. XeLaTeX and LuaLaTeX print them; a \renewcommand of \FrostlineUnicode{letter}{code point} changes that.
";

/// Both files must be of the same report.
pub(super) const SAME: &str = r"\ifdefined\FrostlineResultsDigest\ifdefined\FrostlineTablesDigest
  \ifx\FrostlineResultsDigest\FrostlineTablesDigest\else
    \PackageError{frostline}{results.tex and tables.tex are of different reports}{Take both from the same folder `report'.}%
  \fi
\fi\fi
";

/// How letters that are not in T1 are printed.
pub(super) const UNICODE: &str = r"\ifdefined\FrostlineUnicode\else
  \DeclareRobustCommand\FrostlineUnicode[2]{%
    \ifdefined\XeTeXversion#1\else\ifdefined\directlua#1\else[U+#2]\fi\fi}
\fi
";

/// The commands that print tables.
pub(super) const TABLE: &str = r"\def\FrostlineFitted#1{\ifdefined\resizebox
  \sbox0{#1}\ifdim\wd0>\linewidth\resizebox{\linewidth}{!}{\usebox0}\else\usebox0\fi\else#1\fi}
\def\FrostlineTable#1{\ifcsname frostline@table@#1\endcsname\csname frostline@table@#1\endcsname\else
  \PackageError{frostline}{There is no table `#1'}{Names of tables follow `frostline@table@' in tables.tex.}\fi}
\def\FrostlineCaption#1{\ifcsname frostline@caption@#1\endcsname\csname frostline@caption@#1\endcsname\else
  \PackageError{frostline}{There is no table `#1'}{Names of tables follow `frostline@table@' in tables.tex.}\fi}
";

/// How to use `results.tex`.
pub(super) const NUMBERS: &str = r"%
% In the preamble, with \usepackage[T1]{fontenc}:
%     \input{report/results}
% In the text, for example:
%     Freezing four blocks reaches \FrostlineResult{en}{first-4}{dev-accuracy}\,\%.
% The three parts are language, policy and column, as in the lines of \FrostlineDefine below; values of further axes
% follow the policy after a slash. A number with parts has them too: dev-accuracy-mean and -std, interval-low and -high.
% Besides the main table: dev-f1-NOUN and dev-f1-macro, dev-known and so on, what a step costs (time-saved,
% time-saved-predicted), {en}{recommendation}{policy}, {claims}{1}{verdict}, and published figures (reference-...).
% In names `%' is `pct', and a sign that cannot be typed is `u' and its code point. A name that is not here is an error.
";

/// The commands of `results.tex`.
pub(super) const NUMBER: &str = r"\def\FrostlineDefine#1#2#3#4{\expandafter\def\csname frostline@#1@#2@#3\endcsname{#4}}
\def\FrostlineResult#1#2#3{\ifcsname frostline@#1@#2@#3\endcsname\csname frostline@#1@#2@#3\endcsname\else
  \PackageError{frostline}{There is no result `#3' of `#2' in `#1'}{The lines of results.tex that begin with
    \string\FrostlineDefine\space list all names.}\fi}
";
