"""A design declared once, and the client that carries it out, on any DynamoDB endpoint.

The public names of the toolkit, loaded when they are first used: importing this package imports
neither boto3 nor anything of the Hashrange server. The decorators of access patterns (`query`,
`get` and so on) are in `hashrange.toolkit.declarations`.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from hashrange.toolkit.async_bound import AsyncBoundDesign as AsyncBoundDesign
    from hashrange.toolkit.bound import BoundDesign as BoundDesign
    from hashrange.toolkit.client.async_driver import AsyncDriver as AsyncDriver
    from hashrange.toolkit.client.async_driver import AsyncPages as AsyncPages
    from hashrange.toolkit.client.async_tables import AsyncTableClient as AsyncTableClient
    from hashrange.toolkit.client.drivers import SyncDriver as SyncDriver
    from hashrange.toolkit.client.pages import Page as Page
    from hashrange.toolkit.client.pages import Pages as Pages
    from hashrange.toolkit.client.retries import RetryPolicy as RetryPolicy
    from hashrange.toolkit.client.scans import Progress as Progress
    from hashrange.toolkit.client.tables import TableClient as TableClient
    from hashrange.toolkit.client.transactions import Transaction as Transaction
    from hashrange.toolkit.codecs.compression import Compression as Compression
    from hashrange.toolkit.codecs.encryption import Encryption as Encryption
    from hashrange.toolkit.codecs.large_values import LargeValues as LargeValues
    from hashrange.toolkit.declarations import DesignBase as DesignBase
    from hashrange.toolkit.design.documents import design_to_toml as design_to_toml
    from hashrange.toolkit.design.documents import dump_design as dump_design
    from hashrange.toolkit.design.documents import load_design as load_design
    from hashrange.toolkit.design.documents import parse_design as parse_design
    from hashrange.toolkit.design.entities import Attribute as Attribute
    from hashrange.toolkit.design.entities import Entity as Entity
    from hashrange.toolkit.design.expectations import Budget as Budget
    from hashrange.toolkit.design.expectations import Rate as Rate
    from hashrange.toolkit.design.expectations import Volume as Volume
    from hashrange.toolkit.design.expectations import Waiver as Waiver
    from hashrange.toolkit.design.model import Design as Design
    from hashrange.toolkit.design.patterns import AccessPattern as AccessPattern
    from hashrange.toolkit.design.patterns import SortCondition as SortCondition
    from hashrange.toolkit.design.patterns import Step as Step
    from hashrange.toolkit.design.patterns import above as above
    from hashrange.toolkit.design.patterns import at_least as at_least
    from hashrange.toolkit.design.patterns import at_most as at_most
    from hashrange.toolkit.design.patterns import begins_with as begins_with
    from hashrange.toolkit.design.patterns import below as below
    from hashrange.toolkit.design.patterns import between as between
    from hashrange.toolkit.design.patterns import equals as equals
    from hashrange.toolkit.design.provisioning import create_table_document as create_table_document
    from hashrange.toolkit.design.tables import AutoScaling as AutoScaling
    from hashrange.toolkit.design.tables import Capacity as Capacity
    from hashrange.toolkit.design.tables import Index as Index
    from hashrange.toolkit.design.tables import KeyAttribute as KeyAttribute
    from hashrange.toolkit.design.tables import Table as Table
    from hashrange.toolkit.errors import AlreadyExists as AlreadyExists
    from hashrange.toolkit.errors import CancellationReason as CancellationReason
    from hashrange.toolkit.errors import ConditionFailed as ConditionFailed
    from hashrange.toolkit.errors import ConversionError as ConversionError
    from hashrange.toolkit.errors import DesignError as DesignError
    from hashrange.toolkit.errors import MigrationError as MigrationError
    from hashrange.toolkit.errors import NotFound as NotFound
    from hashrange.toolkit.errors import NotUnique as NotUnique
    from hashrange.toolkit.errors import RequestRefused as RequestRefused
    from hashrange.toolkit.errors import Throttled as Throttled
    from hashrange.toolkit.errors import ToolkitError as ToolkitError
    from hashrange.toolkit.errors import TransactionFailed as TransactionFailed
    from hashrange.toolkit.errors import Unavailable as Unavailable
    from hashrange.toolkit.errors import VersionConflict as VersionConflict
    from hashrange.toolkit.execution.executor import Binding as Binding
    from hashrange.toolkit.global_tables import GlobalTable as GlobalTable
    from hashrange.toolkit.importers.cloudformation import (
        design_from_cloudformation as design_from_cloudformation,
    )
    from hashrange.toolkit.importers.live_table import (
        design_from_live_table as design_from_live_table,
    )
    from hashrange.toolkit.importers.table_documents import (
        design_from_documents as design_from_documents,
    )
    from hashrange.toolkit.importers.table_documents import (
        table_from_document as table_from_document,
    )
    from hashrange.toolkit.importers.terraform import design_from_terraform as design_from_terraform
    from hashrange.toolkit.importers.workbench import design_from_workbench as design_from_workbench
    from hashrange.toolkit.migrations.backfill import Backfill as Backfill
    from hashrange.toolkit.migrations.backfill import BackfillOptions as BackfillOptions
    from hashrange.toolkit.migrations.backfill import BackfillReport as BackfillReport
    from hashrange.toolkit.migrations.differences import Difference as Difference
    from hashrange.toolkit.migrations.differences import differences as differences
    from hashrange.toolkit.migrations.estimates import Estimate as Estimate
    from hashrange.toolkit.migrations.estimates import Prices as Prices
    from hashrange.toolkit.migrations.migration import Migration as Migration
    from hashrange.toolkit.repository import AsyncRepository as AsyncRepository
    from hashrange.toolkit.repository import Repository as Repository
    from hashrange.toolkit.streams.changes import Change as Change
    from hashrange.toolkit.streams.checkpoints import AsyncCheckpoints as AsyncCheckpoints
    from hashrange.toolkit.streams.checkpoints import AsyncTableCheckpoints as AsyncTableCheckpoints
    from hashrange.toolkit.streams.checkpoints import FileCheckpoints as FileCheckpoints
    from hashrange.toolkit.streams.checkpoints import MemoryCheckpoints as MemoryCheckpoints
    from hashrange.toolkit.streams.checkpoints import TableCheckpoints as TableCheckpoints
    from hashrange.toolkit.streams.consumer import AsyncStreamConsumer as AsyncStreamConsumer
    from hashrange.toolkit.streams.consumer import StreamConsumer as StreamConsumer
    from hashrange.toolkit.streams.reader import ConsumerOptions as ConsumerOptions
    from hashrange.toolkit.transfers import AsyncTransactionManager as AsyncTransactionManager
    from hashrange.toolkit.transfers import Place as Place
    from hashrange.toolkit.transfers import TransactionManager as TransactionManager

_HOMES: Final = {
    "async_bound": ("AsyncBoundDesign",),
    "bound": ("BoundDesign",),
    "client.async_driver": (
        "AsyncDriver",
        "AsyncPages",
    ),
    "client.async_tables": ("AsyncTableClient",),
    "client.drivers": ("SyncDriver",),
    "client.pages": (
        "Page",
        "Pages",
    ),
    "client.retries": ("RetryPolicy",),
    "client.scans": ("Progress",),
    "client.tables": ("TableClient",),
    "client.transactions": ("Transaction",),
    "codecs.compression": ("Compression",),
    "codecs.encryption": ("Encryption",),
    "codecs.large_values": ("LargeValues",),
    "declarations": ("DesignBase",),
    "design.documents": (
        "design_to_toml",
        "dump_design",
        "load_design",
        "parse_design",
    ),
    "design.entities": (
        "Attribute",
        "Entity",
    ),
    "design.expectations": (
        "Budget",
        "Rate",
        "Volume",
        "Waiver",
    ),
    "design.model": ("Design",),
    "design.patterns": (
        "AccessPattern",
        "SortCondition",
        "Step",
        "above",
        "at_least",
        "at_most",
        "begins_with",
        "below",
        "between",
        "equals",
    ),
    "design.provisioning": ("create_table_document",),
    "design.tables": (
        "AutoScaling",
        "Capacity",
        "Index",
        "KeyAttribute",
        "Table",
    ),
    "errors": (
        "AlreadyExists",
        "CancellationReason",
        "ConditionFailed",
        "ConversionError",
        "DesignError",
        "MigrationError",
        "NotFound",
        "NotUnique",
        "RequestRefused",
        "Throttled",
        "ToolkitError",
        "TransactionFailed",
        "Unavailable",
        "VersionConflict",
    ),
    "execution.executor": ("Binding",),
    "global_tables": ("GlobalTable",),
    "importers.cloudformation": ("design_from_cloudformation",),
    "importers.live_table": ("design_from_live_table",),
    "importers.table_documents": (
        "design_from_documents",
        "table_from_document",
    ),
    "importers.terraform": ("design_from_terraform",),
    "importers.workbench": ("design_from_workbench",),
    "migrations.backfill": (
        "Backfill",
        "BackfillOptions",
        "BackfillReport",
    ),
    "migrations.differences": (
        "Difference",
        "differences",
    ),
    "migrations.estimates": (
        "Estimate",
        "Prices",
    ),
    "migrations.migration": ("Migration",),
    "repository": (
        "AsyncRepository",
        "Repository",
    ),
    "streams.changes": ("Change",),
    "streams.checkpoints": (
        "AsyncCheckpoints",
        "AsyncTableCheckpoints",
        "FileCheckpoints",
        "MemoryCheckpoints",
        "TableCheckpoints",
    ),
    "streams.consumer": (
        "AsyncStreamConsumer",
        "StreamConsumer",
    ),
    "streams.reader": ("ConsumerOptions",),
    "transfers": (
        "AsyncTransactionManager",
        "Place",
        "TransactionManager",
    ),
}
_HOME_OF: Final = {name: home for home, names in _HOMES.items() for name in names}


def __getattr__(name: str) -> Any:
    home = _HOME_OF.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{home}"), name)


def __dir__() -> list[str]:
    return sorted(_HOME_OF)
