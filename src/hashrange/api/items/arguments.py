"""Reads the expression parameters that many operations share into bound expressions.

The checks are in AWS's order: parameters that exclude one another, then names and values without
an expression, then the legacy parameters, then names and values, then the expressions, and last
the names and values no expression uses. Where AWS words the same refusal in two ways, `wording`
(see `model.values`) says which: PutItem, UpdateItem and DeleteItem put it in an envelope.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Set
from functools import lru_cache
from itertools import islice
from typing import Any, Final, Literal, final

from hashrange.errors import ValidationException
from hashrange.expressions.binding import PREPARED_MAX, NamePairs, may_keep
from hashrange.expressions.conditions import Condition, prepare_condition
from hashrange.expressions.key_conditions import KeyCondition, prepare_key_condition
from hashrange.expressions.legacy import (
    check_conditional_operator,
    read_attribute_updates,
    read_attributes_to_get,
    read_expected,
    read_filter,
    read_key_conditions,
)
from hashrange.expressions.projections import Projection, prepare_projection
from hashrange.expressions.updates import Update, prepare_update
from hashrange.limits import (
    ATTRIBUTE_NAME_BYTES_MAX,
    EXPRESSION_VARIABLE_BYTES_MAX,
    EXPRESSION_VARIABLES_MAX,
)
from hashrange.model.values import BARE, ENVELOPED, OLDER, Value, check_values

Request = dict[str, Any]
Kind = Literal["put", "delete", "update", "check"]

ENVELOPE: Final = "1 validation error detected: "

# What an error text repeats of placeholders.
_ECHO_CHARACTERS_MAX: Final = 100_000
_ECHOED_MAX: Final = 100
_NO_NAMES: Final[NamePairs] = ()
_NO_VALUES: Final[dict[str, Value]] = {}
_WRITE_EXPRESSIONS: Final = ("ConditionExpression",)
_WRITE_LEGACY: Final = ("Expected", "ConditionalOperator")
_UPDATE_EXPRESSIONS: Final = ("UpdateExpression", "ConditionExpression")
_UPDATE_LEGACY: Final = ("AttributeUpdates", "Expected", "ConditionalOperator")
_GET_EXPRESSIONS: Final = ("ProjectionExpression",)
_GET_LEGACY: Final = ("AttributesToGet",)
_SCAN_EXPRESSIONS: Final = ("ProjectionExpression", "FilterExpression")
_SCAN_LEGACY: Final = ("AttributesToGet", "ScanFilter", "ConditionalOperator")
_QUERY_EXPRESSIONS: Final = ("ProjectionExpression", "FilterExpression", "KeyConditionExpression")
_QUERY_LEGACY: Final = ("AttributesToGet", "QueryFilter", "ConditionalOperator", "KeyConditions")

_INVALID: Final = "One or more parameter values were invalid: "
_is_name: Final = re.compile(r"#[A-Za-z0-9_]+").fullmatch
_is_value: Final = re.compile(r":[A-Za-z0-9_]+").fullmatch
_are_values: Final = re.compile(r"(?::[A-Za-z0-9_]{1,254})++").fullmatch


@final
class WriteArguments:
    """The condition and the update of a write."""

    __slots__ = ("condition", "update")

    def __init__(self, condition: Condition | None, update: Update | None) -> None:
        self.condition = condition
        self.update = update


@final
class QueryArguments:
    """The key condition, filter and projection of a query or scan."""

    __slots__ = ("filter", "key_condition", "projection")

    def __init__(
        self,
        key_condition: KeyCondition | None,
        filter: Condition | None,
        projection: Projection | None,
    ) -> None:
        # Set for queries, None for scans.
        self.key_condition = key_condition
        self.filter = filter
        self.projection = projection


_NOTHING: Final = WriteArguments(None, None)


def read_write_arguments(
    request: Request, *, kind: Kind, wording: int = ENVELOPED
) -> WriteArguments:
    """Read condition and update of PutItem, DeleteItem, UpdateItem or a transaction's action."""
    try:
        if kind == "update":
            return _read_update(request, wording)
        return _read_write(request, wording)
    except ValidationException as error:
        if wording != ENVELOPED or error.message.startswith(ENVELOPE):
            raise
        raise ValidationException(ENVELOPE + error.message) from None


def _read_write(request: Request, wording: int) -> WriteArguments:
    text = request.get("ConditionExpression")
    if text is None and not (
        "Expected" in request
        or "ConditionalOperator" in request
        or "ExpressionAttributeNames" in request
        or "ExpressionAttributeValues" in request
    ):
        return _NOTHING
    _check_mixture(request, _WRITE_EXPRESSIONS, _WRITE_LEGACY)
    if text is None:
        _check_variables(request, _WRITE_EXPRESSIONS, _WRITE_EXPRESSIONS, wording)
        return WriteArguments(_read_expected(request, wording), None)
    names = _read_names(request)
    values = _read_values(request, wording)
    prepared = prepare_condition("ConditionExpression", text, names)
    condition = prepared.bind(values)
    _check_unused(request, prepared.used_names, prepared.used_values)
    return WriteArguments(condition, None)


def _read_update(request: Request, wording: int) -> WriteArguments:
    _check_mixture(request, _UPDATE_EXPRESSIONS, _UPDATE_LEGACY)
    update_text = request.get("UpdateExpression")
    condition_text = request.get("ConditionExpression")
    if update_text is None and condition_text is None:
        _check_variables(request, _UPDATE_EXPRESSIONS, _UPDATE_EXPRESSIONS, wording)
        update = None
        if request.get("AttributeUpdates") is not None:
            update = read_attribute_updates(request["AttributeUpdates"], _inner(wording))
        return WriteArguments(_read_expected(request, wording), update)
    names = _read_names(request)
    values = _read_values(request, wording)
    used_names: Set[str] = frozenset()
    used_values: Set[str] = frozenset()
    update = None
    if update_text is not None:
        prepared_update = prepare_update(update_text, names)
        update = prepared_update.bind(values)
        used_names, used_values = prepared_update.used_names, prepared_update.used_values
    condition = None
    if condition_text is not None:
        prepared = prepare_condition("ConditionExpression", condition_text, names)
        condition = prepared.bind(values)
        used_names |= prepared.used_names
        used_values |= prepared.used_values
    _check_unused(request, used_names, used_values)
    return WriteArguments(condition, update)


def _read_expected(request: Request, wording: int) -> Condition | None:
    expected = request.get("Expected")
    operator = request.get("ConditionalOperator")
    condition = None if not expected else read_expected(expected, operator, _inner(wording))
    check_conditional_operator(operator, expected)
    return condition


def read_get_arguments(request: Request) -> Projection | None:
    """Read the projection of GetItem, of a table of BatchGetItem or of a transaction's Get."""
    text = request.get("ProjectionExpression")
    if text is None:
        if request.get("ExpressionAttributeNames") is not None:
            raise _names_without_expressions()
        attributes = request.get("AttributesToGet")
        return None if attributes is None else read_attributes_to_get(attributes)
    _check_mixture(request, _GET_EXPRESSIONS, _GET_LEGACY)
    prepared = prepare_projection(text, _read_names(request))
    projection = prepared.bind()
    # Gets have no ExpressionAttributeValues: like any unknown parameter it is not looked at.
    _check_unused_names(request, prepared.used_names)
    return projection


def check_batch_mixture(parts: Iterable[Request]) -> None:
    """Refuse a BatchGetItem that projects one table by an expression and another without."""
    given: Request = {}
    for part in parts:
        given |= part
    _check_mixture(given, _GET_EXPRESSIONS, _GET_LEGACY)


def read_scan_arguments(request: Request) -> QueryArguments:
    """Read filter and projection of Scan."""
    _check_mixture(request, _SCAN_EXPRESSIONS, _SCAN_LEGACY)
    _check_variables(request, _SCAN_EXPRESSIONS, ("FilterExpression",), OLDER)
    filter = _read_legacy_filter(request, "ScanFilter", OLDER)
    projection = _read_attributes_to_get(request)
    _check_select(request, OLDER)
    names = _read_names(request)
    values = _read_values(request, OLDER)
    used_names: Set[str] = frozenset()
    used_values: Set[str] = frozenset()
    text = request.get("FilterExpression")
    if text is not None:
        prepared = prepare_condition("FilterExpression", text, names)
        filter = prepared.bind(values)
        used_names, used_values = prepared.used_names, prepared.used_values
    text = request.get("ProjectionExpression")
    if text is not None:
        prepared_projection = prepare_projection(text, names)
        projection = prepared_projection.bind()
        used_names |= prepared_projection.used_names
    _check_unused(request, used_names, used_values)
    return QueryArguments(None, filter, projection)


def read_query_arguments(request: Request) -> QueryArguments:
    """Read key condition, filter and projection of Query."""
    _check_query_mixture(request)
    if request.get("KeyConditionExpression") is None:
        _check_variables(
            request, _QUERY_EXPRESSIONS, ("FilterExpression", "KeyConditionExpression"), BARE
        )
    filter = _read_legacy_filter(request, "QueryFilter", BARE)
    projection = _read_attributes_to_get(request)
    _check_select(request, BARE)
    key_text = request.get("KeyConditionExpression")
    key_conditions = request.get("KeyConditions")
    key_condition = None
    if key_conditions is not None:
        key_condition = read_key_conditions(key_conditions, BARE)
    elif key_text is None:
        raise ValidationException(
            "Either the KeyConditions or KeyConditionExpression parameter must be specified "
            "in the request."
        )
    names = _read_names(request)
    values = _read_values(request, BARE)
    used_names: Set[str] = frozenset()
    used_values: Set[str] = frozenset()
    prepared_key = None
    if key_text is not None:
        prepared_key = prepare_key_condition(key_text, names)
        prepared_key.check(values)
        used_names, used_values = prepared_key.used_names, prepared_key.used_values
    text = request.get("FilterExpression")
    if text is not None:
        prepared = prepare_condition("FilterExpression", text, names)
        filter = prepared.bind(values)
        used_names |= prepared.used_names
        used_values |= prepared.used_values
    text = request.get("ProjectionExpression")
    if text is not None:
        prepared_projection = prepare_projection(text, names)
        projection = prepared_projection.bind()
        used_names |= prepared_projection.used_names
    _check_unused(request, used_names, used_values)
    if prepared_key is not None:
        key_condition = prepared_key.bind(values)
    return QueryArguments(key_condition, filter, projection)


def _check_query_mixture(request: Request) -> None:
    # KeyConditions may stand beside the other expressions, just not beside its own.
    has_expression = request.get("KeyConditionExpression") is not None
    legacy = _QUERY_LEGACY if has_expression else _QUERY_LEGACY[:-1]
    _check_mixture(request, _QUERY_EXPRESSIONS, legacy)


def _check_mixture(request: Request, expressions: Iterable[str], legacy: Iterable[str]) -> None:
    """Refuse expressions beside legacy parameters."""
    for parameter in legacy:
        if parameter in request and request[parameter] is not None:
            break
    else:
        return
    new = [parameter for parameter in expressions if request.get(parameter) is not None]
    if new:
        old = [parameter for parameter in legacy if request.get(parameter) is not None]
        raise ValidationException(
            "Can not use both expression and non-expression parameters in the same request: "
            f"Non-expression parameters: {{{', '.join(old)}}} "
            f"Expression parameters: {{{', '.join(new)}}}"
        )


def _check_variables(
    request: Request, expressions: Iterable[str], with_values: tuple[str, ...], wording: int
) -> None:
    """Refuse names and values without an expression that could use them."""
    if request.get("ExpressionAttributeNames") is not None and all(
        request.get(parameter) is None for parameter in expressions
    ):
        raise _names_without_expressions()
    if request.get("ExpressionAttributeValues") is not None and all(
        request.get(parameter) is None for parameter in with_values
    ):
        message = "ExpressionAttributeValues can only be specified when using expressions"
        if wording != ENVELOPED:
            verb = "is" if len(with_values) == 1 else "are"
            message += f": {' and '.join(with_values)} {verb} null"
        raise ValidationException(message)


def _names_without_expressions() -> ValidationException:
    return ValidationException(
        "ExpressionAttributeNames can only be specified when using expressions"
    )


def _read_names(request: Request) -> NamePairs:
    """Check ExpressionAttributeNames; return them in the form expressions are kept under."""
    names: Mapping[str, str] | None = request.get("ExpressionAttributeNames")
    if names is None:
        return _NO_NAMES
    if not names:
        raise ValidationException("ExpressionAttributeNames must not be empty")
    _check_count("ExpressionAttributeNames", names)
    pairs = tuple(names.items())
    return _kept_names(pairs) if may_keep("", pairs) else _checked_names(pairs)


def _checked_names(pairs: NamePairs) -> NamePairs:
    for placeholder, name in pairs:
        if not _is_name(placeholder):
            raise _syntax_error("ExpressionAttributeNames", placeholder)
        _check_placeholder_size("ExpressionAttributeNames", placeholder)
        if not name:
            raise _invalid_name("Empty attribute name", placeholder)
        if len(name.encode()) > ATTRIBUTE_NAME_BYTES_MAX:
            raise _invalid_name(
                "Attribute name is too large, must be less than 65536 bytes", placeholder
            )
    return pairs


_kept_names = lru_cache(PREPARED_MAX)(_checked_names)


def _invalid_name(reason: str, placeholder: str) -> ValidationException:
    return ValidationException(
        f"ExpressionAttributeNames contains invalid value: {reason} for key {placeholder}"
    )


def _read_values(request: Request, wording: int) -> Mapping[str, Value]:
    """Check ExpressionAttributeValues and return them."""
    values: dict[str, Value] | None = request.get("ExpressionAttributeValues")
    if values is None:
        return _NO_VALUES
    if not values:
        raise ValidationException("ExpressionAttributeValues must not be empty")
    _check_count("ExpressionAttributeValues", values)
    # One match for all values; the wrong one is searched for only if the match fails.
    joined = "".join(values)
    if not _are_values(joined) or joined.count(":") != len(values):
        for placeholder in values:
            if not _is_value(placeholder):
                raise _syntax_error("ExpressionAttributeValues", placeholder)
            _check_placeholder_size("ExpressionAttributeValues", placeholder)
    check_values(values, _inner(wording))
    return values


def _check_count(parameter: str, placeholders: Mapping[str, object]) -> None:
    """Refuse more placeholders than the expressions of a request have room for."""
    if len(placeholders) > EXPRESSION_VARIABLES_MAX:
        raise _unused(parameter, islice(placeholders, _ECHOED_MAX))


def _inner(wording: int) -> int:
    # The envelope goes around every refusal of a request, once.
    return BARE if wording == ENVELOPED else wording


def _syntax_error(parameter: str, placeholder: str) -> ValidationException:
    return ValidationException(
        f'{parameter} contains invalid key: Syntax error; key: "{placeholder}"'
    )


def _check_placeholder_size(parameter: str, placeholder: str) -> None:
    if len(placeholder) > EXPRESSION_VARIABLE_BYTES_MAX:
        raise ValidationException(
            f"{parameter} contains invalid key: The expression attribute map contains a key that "
            f"is too long; size of key: {len(placeholder)}"
        )


def _check_unused(request: Request, used_names: Set[str], used_values: Set[str]) -> None:
    """Refuse names and values that no expression uses."""
    _check_unused_names(request, used_names)
    values = request.get("ExpressionAttributeValues")
    if values is not None and len(used_values) < len(values):
        raise _unused("ExpressionAttributeValues", values.keys() - used_values)


def _check_unused_names(request: Request, used_names: Set[str]) -> None:
    names = request.get("ExpressionAttributeNames")
    if names is not None and len(used_names) < len(names):
        raise _unused("ExpressionAttributeNames", names.keys() - used_names)


def _unused(parameter: str, placeholders: Iterable[str]) -> ValidationException:
    keys = ", ".join(sorted(placeholders))[:_ECHO_CHARACTERS_MAX]
    return ValidationException(
        f"Value provided in {parameter} unused in expressions: keys: {{{keys}}}"
    )


def _read_legacy_filter(request: Request, parameter: str, wording: int) -> Condition | None:
    conditions = request.get(parameter)
    operator = request.get("ConditionalOperator")
    if conditions is None and operator is None:
        return None
    condition = None if not conditions else read_filter(conditions, operator, wording)
    check_conditional_operator(operator, conditions)
    return condition


def _read_attributes_to_get(request: Request) -> Projection | None:
    attributes = request.get("AttributesToGet")
    return None if attributes is None else read_attributes_to_get(attributes)


def _check_select(request: Request, wording: int) -> None:
    """Check Select as far as possible without the table; Query puts its errors in an envelope."""
    if request.get("Select") is None:
        return
    refusal = _select_refusal(request["Select"], request)
    if refusal is not None:
        raise ValidationException(ENVELOPE + refusal if wording == BARE else refusal)


def _select_refusal(select: str, request: Request) -> str | None:
    for parameter in ("AttributesToGet", "ProjectionExpression"):
        if request.get(parameter) is not None:
            if select == "SPECIFIC_ATTRIBUTES":
                return None
            what = "only the Count" if select == "COUNT" else select
            return f"Cannot specify the {parameter} when choosing to get {what}"
    if select == "SPECIFIC_ATTRIBUTES":
        return (
            "Must specify the AttributesToGet or ProjectionExpression when choosing to get "
            "SPECIFIC_ATTRIBUTES"
        )
    if select == "ALL_PROJECTED_ATTRIBUTES" and request.get("IndexName") is None:
        return "ALL_PROJECTED_ATTRIBUTES can be used only when Querying using an IndexName"
    return None


def check_filter_keys(filter: Condition, key_names: Iterable[str]) -> None:
    """Refuse a filter of a query that mentions an attribute of the key."""
    for name in key_names:
        if name in filter.attributes:
            what = "QueryFilter" if filter.is_legacy else "Filter Expression"
            raise ValidationException(
                f"{what} can only contain non-primary key attributes: Primary key attribute: {name}"
            )


def check_update_keys(update: Update, key_names: Iterable[str]) -> None:
    """Refuse an update that changes an attribute of the key."""
    for name in key_names:
        if name in update.attributes:
            raise ValidationException(
                f"{_INVALID}Cannot update attribute {name}. This attribute is part of the key"
            )


def check_scalar_keys(nested_attributes: Set[str], key_names: Iterable[str], label: str) -> None:
    """Refuse paths into a key attribute; `label` is Key, or IndexKey for those of an index."""
    for name in key_names:
        if name in nested_attributes:
            raise ValidationException(
                "Key attributes must be scalars; list random access '[]' and map lookup '.' are "
                f"not allowed: {label}: {name}"
            )
