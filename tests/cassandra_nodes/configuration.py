"""The files that a Cassandra node is started with, for tests on one small machine.

Durable and linearisable as Hashrange demands it (`commitlog_sync: group`, `paxos_variant: v2`);
pools, caches and heaps are small, because several nodes share two cores.
"""

from __future__ import annotations

import json
import shutil
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

from tests.cassandra_nodes.certificates import STORE_PASSWORD, write_certificates

_YAML: Final = """\
cluster_name: hashrange
storage_compatibility_mode: NONE
num_tokens: 1
initial_token: {token}
auto_bootstrap: false
partitioner: org.apache.cassandra.dht.Murmur3Partitioner
endpoint_snitch: SimpleSnitch
seed_provider:
  - class_name: org.apache.cassandra.locator.SimpleSeedProvider
    parameters:
      - seeds: "{seed}"
listen_address: {address}
rpc_address: {address}
native_transport_port: 9042
storage_port: 7000
start_native_transport: true
data_file_directories: [{data}/data]
commitlog_directory: {data}/commitlog
saved_caches_directory: {data}/saved_caches
hints_directory: {data}/hints
cdc_raw_directory: {data}/cdc
commitlog_sync: {commitlog_sync}
{commitlog_window}
commitlog_segment_size: 64MiB
max_mutation_size: 32MiB
commitlog_total_space: 512MiB
native_transport_max_frame_size: 64MiB
native_transport_max_message_size: 32MiB
native_transport_max_request_data_in_flight_per_ip: 64MiB
native_transport_max_request_data_in_flight: 128MiB
paxos_variant: v2
memtable_heap_space: 96MiB
memtable_offheap_space: 96MiB
memtable_allocation_type: heap_buffers
memtable_flush_writers: 1
memtable:
  configurations:
    skiplist: {{class_name: SkipListMemtable}}
    trie: {{class_name: TrieMemtable}}
    default: {{inherits: trie}}
sstable: {{selected_format: bti}}
file_cache_size: 32MiB
networking_cache_size: 32MiB
key_cache_size: 0MiB
row_cache_size: 0MiB
counter_cache_size: 0MiB
concurrent_reads: 8
concurrent_writes: 8
concurrent_counter_writes: 2
native_transport_max_threads: 8
concurrent_compactors: 1
compaction_throughput: 16MiB/s
auto_snapshot: false
{security}
role_manager: CassandraRoleManager
hinted_handoff_enabled: true
cas_contention_timeout: 2s
read_request_timeout: 5s
write_request_timeout: 2s
request_timeout: 10s
dynamic_snitch: false
disk_optimization_strategy: ssd
"""

_LOGBACK: Final = """\
<configuration>
<appender name="F" class="ch.qos.logback.core.FileAppender"><file>{log}/system.log</file>
<encoder><pattern>%-5level %d{{HH:mm:ss.SSS}} [%thread] %logger{{20}} %msg%n</pattern></encoder>
</appender>
<root level="INFO"><appender-ref ref="F"/></root></configuration>
"""

_OPEN: Final = """\
authenticator: AllowAllAuthenticator
authorizer: AllowAllAuthorizer"""

# The first user of such a node is cassandra, with the password cassandra.
_SECURED: Final = """\
authenticator: PasswordAuthenticator
authorizer: CassandraAuthorizer
client_encryption_options:
  enabled: true
  optional: false
  keystore: {folder}/conf/node.p12
  keystore_password: {password}
  store_type: PKCS12"""

_WINDOWS: Final = {
    "group": "commitlog_sync_group_window: 2ms",
    "periodic": "commitlog_sync_period: 10000ms",
    "batch": "",
}


@dataclass(frozen=True, slots=True)
class Nodes:
    """How many nodes there are, where they listen, and how they are set up."""

    count: int = 1
    # Addresses are this and the number of the node; a second cluster needs another one.
    network: str = "127.0.0."
    heap: str = "512m"
    commitlog_sync: str = "group"
    # Each node has a network namespace of its own, whose link can be cut; needs root.
    namespaces: bool = False
    # The clock of each node can be set while it runs; needs a C compiler.
    clocks: bool = False
    # Clients have to use TLS and a password.
    secured: bool = False

    def address(self, number: int) -> str:
        """Return the address of a node."""
        return f"{self.network}{number}"

    @property
    def addresses(self) -> list[str]:
        """The addresses of all nodes."""
        return [self.address(number) for number in range(1, self.count + 1)]

    def jmx_port(self, number: int) -> int:
        """Return the port for management, which is one of this machine, not of an address."""
        return 7200 + 10 * int(self.network.split(".")[1]) + number


def write_files(folder: Path, number: int, nodes: Nodes) -> None:
    """Make the folders and files of a node, without its earlier data."""
    shutil.rmtree(folder, ignore_errors=True)
    for name in ("conf", "data", "log"):
        (folder / name).mkdir(parents=True)
    secured = _SECURED.format(folder=folder, password=STORE_PASSWORD)
    text = _YAML.format(
        token=-(2**63) + (number - 1) * (2**64 // nodes.count),
        seed=nodes.address(1),
        address=nodes.address(number),
        data=folder / "data",
        commitlog_sync=nodes.commitlog_sync,
        commitlog_window=_WINDOWS[nodes.commitlog_sync],
        security=secured if nodes.secured else _OPEN,
    )
    if nodes.secured:
        write_certificates(folder / "conf")
    (folder / "conf/cassandra.yaml").write_text(text)
    (folder / "conf/logback.xml").write_text(_LOGBACK.format(log=folder / "log"))
    (folder / "conf/cassandra-rackdc.properties").write_text("dc=datacenter1\nrack=rack1\n")
    (folder / "nodes.json").write_text(json.dumps(asdict(nodes)))


def read_nodes(folder: Path) -> Nodes:
    """Return what a node was set up with."""
    return Nodes(**json.loads((folder / "nodes.json").read_text()))
