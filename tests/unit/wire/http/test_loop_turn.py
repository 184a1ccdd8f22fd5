"""Responses of a turn leave together and in order; one failure does not take others with it."""

import asyncio

from hashrange.wire.http.loop_turn import LoopTurn


class _Transport(asyncio.Transport):
    def __init__(self, sent):
        self.sent = sent
        self.closing = False

    def is_closing(self):
        return self.closing

    def write(self, response):
        self.sent.append(response)


class _Connection:
    def __init__(self, answer):
        self.answer_waiting = answer
        self.aborted = False

    def abort(self):
        self.aborted = True


def _fail():
    raise ValueError("no answer")


async def _turns(count=3):
    for _ in range(count):
        await asyncio.sleep(0)


def test_responses_leave_together_after_all_requests_were_answered():
    async def main():
        sent: list[bytes] = []
        seen: list[list[bytes]] = []
        transport = _Transport(sent)
        turn = LoopTurn(asyncio.get_running_loop())
        for number in range(3):

            def answer(number=number):
                seen.append(list(sent))
                turn.send(transport, b"%d" % number)

            turn.answer(_Connection(answer))
        assert sent == []
        await _turns()
        assert seen == [[], [], []]
        assert sent == [b"0", b"1", b"2"]
        turn.send(transport, b"3")
        await _turns()
        assert sent[3:] == [b"3"]

    asyncio.run(main())


def test_the_only_connection_is_answered_at_once():
    async def main():
        sent: list[bytes] = []
        transport = _Transport(sent)
        turn = LoopTurn(asyncio.get_running_loop())
        turn.is_shared = False

        def answer():
            turn.send(transport, b"0")
            assert sent == []
            turn.send(transport, b"1")

        turn.answer(_Connection(answer))
        assert sent == [b"0", b"1"]
        turn.send(transport, b"2")
        assert sent[2:] == [b"2"]

    asyncio.run(main())


def test_a_failure_costs_its_own_connection_only():
    async def main():
        loop = asyncio.get_running_loop()
        failures: list[Exception] = []
        sent: list[bytes] = []
        loop.set_exception_handler(lambda _, context: failures.append(context["exception"]))
        turn = LoopTurn(loop)
        broken = _Connection(_fail)
        turn.answer(broken)
        turn.answer(_Connection(lambda: turn.send(_Transport(sent), b"fine")))
        await _turns()
        assert broken.aborted
        assert sent == [b"fine"]
        assert [str(failure) for failure in failures] == ["no answer"]

    asyncio.run(main())


def test_many_bytes_are_not_held_back_and_closed_transports_get_none():
    async def main():
        sent: list[bytes] = []
        transport = _Transport(sent)
        turn = LoopTurn(asyncio.get_running_loop())
        turn.send(transport, b"small")
        turn.send(transport, b"x" * 70_000)
        assert [len(response) for response in sent] == [5, 70_000]
        turn.send(transport, b"late")
        transport.closing = True
        await _turns()
        assert len(sent) == 2

    asyncio.run(main())
