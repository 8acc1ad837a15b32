"""Every function of the C API with every pointer NULL in turn (tests/api/test_api_misuse.c): errors of class user. Nothing
in it is random: one run is all."""

import judge
import world

SHARE = 0


def trial(t):
    t.tell("test_api_misuse")
    done = t.run(t.world.program("api/test_api_misuse"), world.SOURCE / "include/heddle.h")
    judge.hold(done.status == 0 and not any(m in done.err for m in judge.SANITIZERS), f"{done}\n{done.out[-2000:].decode()}")
    return judge.ERROR
