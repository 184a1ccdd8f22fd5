"""Reserved words of PartiQL, which are names only when quoted: those of SQL-92 and more.

They are in lower case here; statements may use any case.
"""

from __future__ import annotations

from typing import Final

_SQL_92: Final = """
    absolute action add all allocate alter and any are as asc assertion at authorization avg begin
    between bit bit_length by cascade cascaded case cast catalog char character character_length
    char_length check close coalesce collate collation column commit connect connection constraint
    constraints continue convert corresponding count create cross current current_date current_time
    current_timestamp current_user cursor date deallocate dec decimal declare default deferrable
    deferred delete desc describe descriptor diagnostics disconnect distinct domain double drop else
    end end-exec escape except exception exec execute exists external extract false fetch first
    float for foreign found from full get global go goto grant group having identity immediate in
    indicator initially inner input insensitive insert int integer intersect interval into is
    isolation join key language last left level like local lower match max min module names national
    natural nchar next no not null nullif numeric octet_length of on only open option or order outer
    output overlaps pad partial position precision prepare preserve primary prior privileges
    procedure public read real references relative restrict revoke right rollback rows schema scroll
    section select session session_user set size smallint some space sql sqlcode sqlerror sqlstate
    substring sum system_user table temporary then time timestamp to transaction translate
    translation trim true union unique unknown update upper usage user using value values varchar
    varying view when whenever where with work write zone
"""
_PARTIQL: Final = """
    bag blob bool boolean clob date_add date_diff index let limit list missing pivot remove sexp
    string struct symbol tuple unpivot
"""

KEYWORDS: Final = frozenset(_SQL_92.split()) | frozenset(_PARTIQL.split())

OPERATOR_WORDS: Final = frozenset(("and", "or", "is", "in", "like", "between"))
"""Words that stand between two operands."""

FUNCTION_WORDS: Final = frozenset(
    ("avg", "coalesce", "count", "exists", "lower", "max", "min", "nullif", "size", "sum", "upper")
)
"""Reserved words that may be called like a function."""

TYPE_NAMES: Final = {
    "bag": "BAG",
    "blob": "BLOB",
    "bool": "BOOLEAN",
    "boolean": "BOOLEAN",
    "char": "CHARACTER",
    "character": "CHARACTER",
    "clob": "CLOB",
    "date": "DATE",
    "dec": "DECIMAL",
    "decimal": "DECIMAL",
    "double": "DOUBLE_PRECISION",
    "float": "FLOAT",
    "int": "INTEGER",
    "int2": "SMALLINT",
    "int4": "INTEGER",
    "int8": "INTEGER",
    "integer": "INTEGER",
    "list": "LIST",
    "missing": "MISSING",
    "null": "NULL",
    "numeric": "NUMERIC",
    "real": "REAL",
    "sexp": "SEXP",
    "smallint": "SMALLINT",
    "string": "STRING",
    "struct": "STRUCT",
    "symbol": "SYMBOL",
    "timestamp": "TIMESTAMP",
    "tuple": "TUPLE",
    "varchar": "CHARACTER_VARYING",
}
"""Types that IS may name, and how messages print them."""
