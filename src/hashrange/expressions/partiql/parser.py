"""Parser of PartiQL statements; notes unsupported clauses, which are refused later."""

from __future__ import annotations

from typing import Final, final

from hashrange.expressions.partiql.expression_parser import ExpressionParser
from hashrange.expressions.partiql.lexer import END, NAME, Token, not_well_formed
from hashrange.expressions.partiql.tree import (
    Assignment,
    Delete,
    Insert,
    Literal,
    Node,
    PathTree,
    Reference,
    Returning,
    Select,
    Update,
)

_ALIAS: Final = "Aliasing is not supported"
_SINGLE_SOURCE: Final = "Only select from a single table or index is supported."
_JOINS: Final = frozenset(("join", "inner", "left", "right", "full", "cross", ","))


@final
class StatementParser(ExpressionParser):
    """Parses one statement."""

    __slots__ = ()

    def statement(self) -> Node:
        """Parse the whole text."""
        node = self.expression()
        self.accept(";")
        if self.peek().kind != END:
            raise not_well_formed("Unexpected token after expression")
        return node

    def statement_term(self, token: Token) -> Node | None:
        if token.kind == "select":
            return self._select(token)
        if token.kind == "insert" and self._tokens[self._next + 1].kind == "into":
            return self._insert(token)
        if token.kind == "update":
            return self._update(token)
        if token.kind == "delete":
            return self._delete(token)
        return self._from_first(token) if token.kind == "from" else None

    def _select(self, token: Token) -> Node:
        self._next += 1
        select = Select(token)
        if self.accept("distinct"):
            select.refusal = "Unsupported token in expression: DISTINCT"
        else:
            self.accept("all")
        if self.accept("value") or self.accept("pivot"):
            select.refusal = "Select projection doesn't support value or pivot keywords"
        if not self.accept("*"):
            self._projection(select)
        self.expect("from", "Expected FROM after SELECT list")
        self._sources(select)
        if self.accept("where"):
            select.where = self.expression()
        self._unsupported_clauses(select)
        if self.accept("order"):
            self.expect("by", "Expected BY after ORDER")
            self._order(select)
        if self.accept("limit"):
            node = self.expression()
            select.refusal = select.refusal or f"Unsupported clause: LIMIT{node.token.place}"
        return select

    def _projection(self, select: Select) -> None:
        projection: list[Node] = []
        while True:
            projection.append(self.expression())
            self._alias(select)
            if not self.accept(","):
                select.projection = projection
                return

    def _sources(self, select: Select) -> None:
        select.source = self.expression()
        self._alias(select)
        while self.peek().kind in _JOINS:
            is_list = self.accept(",")
            while not is_list and self.peek().kind in (*_JOINS, "outer"):
                self._next += 1
            self.expression()
            self._alias(select)
            if self.accept("on"):
                self.expression()
            select.refusal = select.refusal or _SINGLE_SOURCE

    def _alias(self, node: Select | Update | Delete) -> None:
        """Parse an alias, which is refused."""
        if self.accept("as"):
            self.expect(NAME, "Expected identifier for alias")
        elif self.peek().kind == NAME and self.peek().text.lower() not in ("returning",):
            self._next += 1
        else:
            return
        node.refusal = node.refusal or _ALIAS

    def _unsupported_clauses(self, select: Select) -> None:
        if self.accept("group"):
            self.expect("by", "Expected BY after GROUP")
            self.expression()
            while self.accept(","):
                self.expression()
            select.refusal = select.refusal or "Unsupported clause: GROUP BY"
        if self.accept("having"):
            node = self.expression()
            select.refusal = select.refusal or f"Unsupported clause: HAVING{node.token.place}"

    def _order(self, select: Select) -> None:
        while True:
            key = self.expression()
            descends = self.accept("desc")
            if not descends:
                self.accept("asc")
            if self.accept_word("nulls") and not self.accept("first"):
                self.expect("last", "Unexpected term")
            select.order.append((key, descends))
            if not self.accept(","):
                return

    def _insert(self, token: Token) -> Node:
        self._next += 2
        target = self._simple_path()
        if not self.accept("value"):
            insert = Insert(token, target, self.expression())
            insert.refusal = "Unsupported operation: InsertOp"
            return insert
        insert = Insert(token, target, self.expression())
        if self.accept("at"):
            self.expression()
            insert.refusal = f"AT is not supported in insert statements.{token.place}"
        if self.accept("on"):
            self._conflict(insert)
        if self._returning() is not None:
            insert.refusal = insert.refusal or "RETURNING is not supported in INSERT"
        return insert

    def _conflict(self, insert: Insert) -> None:
        if not self.accept_word("conflict"):
            raise not_well_formed("Expected CONFLICT after ON")
        self.expect("where", "Expected WHERE after ON CONFLICT")
        self.expression()
        if not (self.accept_word("do") and self.accept_word("nothing")):
            raise not_well_formed("Expected DO NOTHING after ON CONFLICT")
        insert.refusal = insert.refusal or "Unsupported clause: ON CONFLICT"

    def _update(self, token: Token) -> Node:
        self._next += 1
        update = Update(token, self._source())
        self._alias(update)
        self._assignments(update)
        if self.accept("where"):
            update.where = self.expression()
        update.returning = self._returning()
        return update

    def _from_first(self, token: Token) -> Node:
        self._next += 1
        update = Update(token, self._source())
        self._alias(update)
        if self.accept("where"):
            update.where = self.expression()
        self._assignments(update)
        update.returning = self._returning()
        return update

    def _source(self) -> Node:
        """Parse the table of an update: a path, so that a minus after it is not read as one."""
        return self._path()

    def _assignments(self, update: Update) -> None:
        assignments = update.assignments
        while True:
            if self.accept("set"):
                while True:
                    path = self._assigned_path()
                    self.expect("=", "Expected = in assignment")
                    assignments.append(Assignment(path, self.expression()))
                    if not self.accept(","):
                        break
            elif self.accept("remove"):
                assignments.append(Assignment(self._simple_path(), None))
            else:
                break
        if not assignments:
            raise not_well_formed("Expected data manipulation")

    def _assigned_path(self) -> Node:
        if self.peek().kind != NAME:
            raise not_well_formed("Expected assignment for SET")
        return self._simple_path()

    def _simple_path(self) -> Node:
        """Parse a name followed by names and literal indexes only."""
        if self.peek().kind != NAME:
            raise not_well_formed("Expected identifier for simple path")
        path = self._path()
        if isinstance(path, PathTree):
            for step in path.steps:
                if not isinstance(step, Reference | Literal):
                    raise not_well_formed("Invalid path component for simple path")
        elif not isinstance(path, Reference):
            raise not_well_formed("Expected identifier for simple path")
        return path

    def _delete(self, token: Token) -> Node:
        self._next += 1
        self.expect("from", "Expected FROM after DELETE")
        delete = Delete(token, self._simple_path())
        self._alias(delete)
        if self.accept("where"):
            delete.where = self.expression()
        delete.returning = self._returning()
        return delete

    def _returning(self) -> Returning | None:
        if not self.accept_word("returning"):
            return None
        elements = [self._returning_element()]
        while self.accept(","):
            elements.append(self._returning_element())
        returning = elements[0]
        if len(elements) > 1:
            returning.refusal = (
                "Invalid syntax with multiple returning elements in RETURNING clause"
            )
        return returning

    def _returning_element(self) -> Returning:
        scope = self.peek().text.upper()
        if not (self.accept("all") or self.accept_word("modified")):
            raise not_well_formed("Expected ALL or MODIFIED in RETURNING clause")
        images = self.peek().text.upper()
        if not (self.accept_word("old") or self.accept_word("new")):
            raise not_well_formed("Expected OLD or NEW in RETURNING clause")
        returning = Returning(scope, images)
        if not self.accept("*"):
            self.expression()
            returning.refusal = (
                "Expected '*' after ( MODIFIED | ALL ) ( NEW | OLD ) in RETURNING clause"
            )
        return returning
