"""Each module with logic says where its tests are: in the same place and under the same name.

A module that is tested through others stands in the table below, with the test that covers it.
"""

from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "src" / "hashrange"
LOGIC = ("api", "capacity", "expressions", "injection", "model", "scaling", "services", "storage")
MODULES = sorted(
    path.relative_to(PACKAGE).as_posix()
    for folder in LOGIC
    for path in (PACKAGE / folder).rglob("*.py")
    if path.name != "__init__.py"
)

# An operation is tested as a client calls it; parts of a language, by texts of the language.
ELSEWHERE = {
    "api/access/authoriser.py": "unit/api/access/test_rows.py",
    "api/access/context.py": "unit/api/access/test_rows.py",
    "api/access/demands.py": "unit/api/access/test_rows.py",
    "api/access/identity_rows.py": "unit/api/access/test_neighbours.py",
    "api/access/monitoring_rows.py": "unit/api/access/test_neighbours.py",
    "api/access/item_rows.py": "unit/api/access/test_item_keys.py",
    "api/access/object_rows.py": "unit/api/access/test_neighbours.py",
    "api/access/statement_rows.py": "unit/api/access/test_rows.py",
    "api/access/table_rows.py": "unit/api/access/test_rows.py",
    "api/access/transfer_rows.py": "unit/api/access/test_rows.py",
    "api/items/batches.py": "conformance/test_batches.py",
    "api/items/delete_item.py": "conformance/test_items.py",
    "api/items/get_item.py": "conformance/test_items.py",
    "api/items/item_writes.py": "conformance/test_index_keys.py",
    "api/items/pages.py": "conformance/test_scan.py",
    "api/items/put_item.py": "conformance/test_items.py",
    "api/items/query.py": "conformance/test_query.py",
    "api/items/scan.py": "conformance/test_scan.py",
    "api/items/transaction_steps.py": "cluster/test_planted_faults.py",
    "api/items/transactions.py": "conformance/test_transactions.py",
    "api/items/update_item.py": "conformance/test_updates.py",
    "api/partiql/keys.py": "conformance/test_partiql.py",
    "api/partiql/reads.py": "conformance/test_partiql.py",
    "api/partiql/statements.py": "conformance/test_partiql.py",
    "api/partiql/transactions.py": "conformance/test_partiql_groups.py",
    "api/partiql/writes.py": "conformance/test_partiql.py",
    "api/recovery/backup_names.py": "unit/api/recovery/test_backups.py",
    "api/recovery/restored_records.py": "unit/api/recovery/test_restores.py",
    "api/registry.py": "unit/wire/test_recorded_requests.py",
    "api/partiql/operations.py": "unit/api/test_operation.py",
    "api/recovery/operations.py": "unit/api/test_operation.py",
    "api/tables/rare_operations.py": "unit/api/test_operation.py",
    "api/transfers/operations.py": "unit/api/test_operation.py",
    "api/scope.py": "unit/api/test_operation.py",
    "api/shapes/insights.py": "unit/api/tables/test_contributor_insights.py",
    "api/shapes/recovery.py": "unit/api/recovery/test_restores.py",
    "api/shapes/scalars.py": "unit/api/shapes/test_structures.py",
    "api/shapes/replica_scaling.py": "unit/api/tables/test_replica_scaling.py",
    "api/tables/closed_tables.py": "unit/storage/test_sealed_engine.py",
    "api/tables/definition_checks.py": "unit/api/tables/test_create_table.py",
    "api/tables/descriptions.py": "unit/api/tables/test_other_operations.py",
    "api/tables/policy_checks.py": "unit/api/tables/test_resource_policies.py",
    "api/transfers/bulk_operations.py": "transfers/test_imports.py",
    "api/transfers/exports.py": "transfers/test_exports.py",
    "api/transfers/filters.py": "transfers/test_exports.py",
    "api/transfers/imports.py": "transfers/test_imports.py",
    "api/transfers/jobs.py": "transfers/test_exports.py",
    "api/transfers/requests.py": "transfers/test_exports.py",
    "api/triggers/event_sources.py": "triggers/test_lambda_client.py",
    "capacity/growth.py": "unit/capacity/test_stores.py",
    "capacity/key_ranges.py": "unit/capacity/test_stores.py",
    "expressions/actions.py": "unit/expressions/test_updates.py",
    "expressions/binding.py": "unit/expressions/test_messages.py",
    "expressions/mentions.py": "unit/api/access/test_item_keys.py",
    "expressions/nodes.py": "unit/expressions/test_messages.py",
    "expressions/parser.py": "unit/expressions/test_messages.py",
    "expressions/partiql/assignments.py": "conformance/test_partiql.py",
    "expressions/partiql/expression_parser.py": "conformance/test_partiql_refusals.py",
    "expressions/partiql/filters.py": "conformance/test_partiql.py",
    "expressions/partiql/keywords.py": "unit/expressions/partiql/test_statements.py",
    "expressions/partiql/selection.py": "unit/expressions/partiql/test_statements.py",
    "expressions/partiql/terms.py": "conformance/test_partiql_refusals.py",
    "expressions/partiql/tree.py": "conformance/test_partiql_refusals.py",
    "expressions/partiql/where.py": "unit/expressions/partiql/test_statements.py",
    "expressions/predicates.py": "unit/expressions/test_conditions.py",
    "expressions/reserved.py": "unit/expressions/test_messages.py",
    "expressions/statics.py": "unit/expressions/test_messages.py",
    "expressions/update_operands.py": "unit/expressions/test_updates.py",
    "model/insights.py": "unit/api/tables/test_contributor_insights.py",
    "services/key_keeping.py": "unit/storage/test_sealed_engine.py",
    "services/resealing.py": "unit/storage/test_sealed_engine.py",
    "injection/stale_reads.py": "unit/testing/test_faults.py",
    "injection/store.py": "unit/testing/test_faults.py",
    "scaling/alarms.py": "unit/scaling/test_worker.py",
    "scaling/store.py": "unit/scaling/test_worker.py",
    "model/backups.py": "unit/api/recovery/test_backups.py",
    "model/jobs.py": "unit/storage/test_jobs.py",
    "services/backup_retention.py": "unit/api/recovery/test_backups.py",
    "services/index_follower.py": "cluster/test_invariants.py",
    "services/restores.py": "unit/api/recovery/test_restores.py",
    "services/metric_upkeep.py": "neighbours/test_cloudwatch.py",
    "services/scrub.py": "engine/test_scrub.py",
    "services/table_backups.py": "unit/api/recovery/test_backups.py",
    "services/transaction_recovery.py": "cluster/test_invariants.py",
    "services/triggers/configured.py": "unit/services/triggers/test_delivery.py",
    "services/triggers/functions.py": "unit/services/triggers/test_delivery.py",
    "services/triggers/http_client.py": "unit/services/triggers/test_http_target.py",
    "services/triggers/mappings.py": "unit/services/triggers/test_delivery.py",
    "services/triggers/service.py": "unit/services/triggers/test_delivery.py",
    "services/triggers/shards.py": "unit/services/triggers/test_delivery.py",
    "services/triggers/sources.py": "unit/services/triggers/test_delivery.py",
    "services/triggers/targets.py": "unit/services/triggers/test_command_target.py",
    "services/triggers/worker.py": "unit/services/triggers/test_python_target.py",
    "model/nesting.py": "conformance/test_values.py",
    "storage/backups.py": "unit/api/recovery/test_backups.py",
    "storage/catalog_followup.py": "unit/storage/test_catalog.py",
    "storage/consistency.py": "faults/test_check_and_repair.py",
    "storage/delays.py": "unit/storage/test_catalog.py",
    "storage/expire_write.py": "unit/services/test_expiry.py",
    "storage/images.py": "unit/services/test_expiry.py",
    "storage/item_collections.py": "conformance/test_capacity.py",
    "storage/load_steps.py": "unit/services/test_bulk_load.py",
    "storage/loading.py": "unit/services/test_bulk_load.py",
    "storage/locked_ranges.py": "cluster/test_transactions.py",
    "storage/lock_steps.py": "cluster/test_planted_faults.py",
    "storage/sealed_spaces.py": "unit/storage/test_sealed_engine.py",
    "storage/item_changes.py": "unit/api/recovery/test_changes.py",
    "storage/past.py": "unit/api/recovery/test_time_travel.py",
    "storage/stream_marks.py": "unit/services/test_stream_keeper.py",
    "storage/streams.py": "unit/api/streams/test_operations.py",
    "storage/table_check.py": "faults/test_check_and_repair.py",
    "storage/transactions.py": "conformance/test_transactions.py",
    "storage/triggers.py": "unit/api/triggers/test_functions.py",
    "storage/writes.py": "unit/services/test_expiry.py",
}


def mirror_of(module):
    path = Path(module)
    return ROOT / "tests" / "unit" / path.parent / f"test_{path.name}"


@pytest.mark.parametrize("module", MODULES)
def test_a_module_has_its_tests_in_the_same_place_or_says_where(module):
    if module in ELSEWHERE:
        assert (ROOT / "tests" / ELSEWHERE[module]).is_file()
        assert not mirror_of(module).is_file(), "it has tests of its own: take it from the table"
    else:
        assert mirror_of(module).is_file(), f"{mirror_of(module).relative_to(ROOT)} is missing"


def test_no_module_of_the_table_is_gone():
    assert ELSEWHERE.keys() <= set(MODULES)
