# SPDX-License-Identifier: MIT
"""Runs the script ./heddle as a user would, with a cmake that builds nothing: folders, rights, an old cmake, ^C, several at once.

usage: script_check.py HEDDLE
"""
import concurrent.futures
import fcntl
import os
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import time

SCRIPT = sys.argv[1]
NOBODY = 65534
CMAKE = """#!/bin/bash
if [[ $1 == --version ]]; then printf 'cmake version %s\\n\\nCMake suite\\n' "${FAKE_VERSION-3.25.1}"; exit; fi
if [[ -n ${FAKE_ALONE-} ]]; then mkdir "$FAKE_ALONE" || exit 1; sleep 0.3; rmdir "$FAKE_ALONE"; fi
if [[ -n ${FAKE_STAYS-} ]]; then sleep 20 >/dev/null 2>&1 & fi
if [[ $1 == --preset ]]; then
  mkdir -p "build/$2"; touch "build/$2/build.ninja"; printf 'CMAKE_HOME_DIRECTORY:INTERNAL=%s\\n' "$PWD" >"build/$2/CMakeCache.txt"
  printf '%s\\n' "${@:3}" >>"build/$2/options"; exit
fi
if [[ -n ${FAKE_SLOW-} ]]; then touch "$FAKE_SLOW"; sleep 20; fi
mkdir -p "$2/tools"; printf '#!/bin/bash\\nif [[ -n ${FAKE_RUNS-} ]]; then touch "$FAKE_RUNS"; exec sleep 20; fi\\nif [[ -n ${FAKE_QUIET-} && $1 == --check ]]; then exit; fi\\necho "$PWD: $*"\\n' >"$2/tools/$4"
chmod +x "$2/tools/$4"
"""
# At ^C or SIGTERM an mpirun ends its processes and then itself, with 1.
MPIRUN = """#!/bin/bash
if [[ -n ${FAKE_TRAINING-} ]]; then trap 'echo ended; exit ${FAKE_END-1}' INT TERM; touch "$FAKE_TRAINING"; for ((i = 0; i < 200; ++i)); do sleep 0.1; done; fi
if [[ -n ${FAKE_CODE-} ]]; then exit "$FAKE_CODE"; fi
exec "${@:3}"
"""
faults = []


def check(what, good, seen=""):
    if not good:
        faults.append(f"{what}: {seen}")


class Place:
    """A checkout that has only the script, programs of its own in front of the system's, and a folder where the user is."""

    def __init__(self):
        self.folder = tempfile.mkdtemp()
        os.chmod(self.folder, 0o755)
        self.root, self.here, self.programs = (os.path.join(self.folder, name) for name in ("checkout", "here", "programs"))
        for folder in (self.root, self.here, self.programs):
            os.mkdir(folder)
        shutil.copy(SCRIPT, os.path.join(self.root, "heddle"))
        for name, text in (("cmake", CMAKE), ("dpkg-query", "#!/bin/bash\nprintf installed\n"), ("apt-get", "#!/bin/bash\nexit 1\n"),
                           ("mpirun", MPIRUN)):
            self.program(name, text)

    def program(self, name, text):
        self.file(os.path.join(self.programs, name), text)

    def file(self, name, text, mode=0o755):
        path = os.path.join(self.here, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="latin-1", newline="") as file:
            file.write(text)
        os.chmod(path, mode)

    def command(self, *arguments):
        return ["/bin/bash", os.path.join(self.root, "heddle"), *arguments]

    def environment(self, **more):
        return {**os.environ, "PATH": f"{self.programs}:/usr/bin:/bin", **more}

    def start(self, *arguments, **environment):
        return subprocess.Popen(self.command(*arguments), cwd=self.here, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True,
                                env=self.environment(**environment))

    def run(self, *arguments, user=None, **environment):
        return subprocess.run(self.command(*arguments), cwd=self.here, capture_output=True, text=True, timeout=60, user=user,
                              env=self.environment(**environment))

    def remove(self):
        shutil.rmtree(self.folder)


def paths_are_the_users():
    place = Place()
    ended = place.run("train", "--output", "results", "--data", "a folder")
    check("train starts where the user is", ended.stdout == f"{place.here}: --output results --data a folder\n", ended.stdout + ended.stderr)
    for words, program in ((("mnist", "--epochs", "1"), "train"), (("convnet", "--epochs", "1"), "train_convnet"), (("gpt", "--epochs", "1"), "train_gpt")):
        ended = place.run("train", *words)
        check("the network that is named is trained", ended.stdout == f"{place.here}: --epochs 1\n", ended.stdout + ended.stderr)
        check("by its program", os.path.exists(os.path.join(place.root, "build", "release", "tools", program)))
    ended = place.run("doctor", "--plan", "data")
    check("doctor starts where the user is", ended.stdout == f"{place.here}: --plan data\n", ended.stdout + ended.stderr)
    ended = place.run("measure", "--json", "machine.json")
    check("measure starts where the user is", ended.stdout == f"{place.here}: --json machine.json\n", ended.stdout + ended.stderr)
    ended = place.run("train", "--processes", "2", "--output", "results")
    line = f"{place.here}: --processes 2 --output results\n"
    check("processes start where the user is", ended.stdout == f"{place.here}: --check --processes 2 --output results\n{line}", ended.stdout + ended.stderr)
    with open(os.path.join(place.root, "build", "release", "options"), encoding="utf-8") as file:
        check("processes are built with MPI", "-DHEDDLE_WITH_MPI=ON" in file.read())
    gone = os.path.join(place.folder, "gone")
    os.mkdir(gone)
    ended = subprocess.run(["/bin/bash", "-c", f"cd {gone} && rmdir {gone} && exec /bin/bash {place.root}/heddle doctor"], capture_output=True, text=True,
                           timeout=60, env=place.environment())
    check("a folder that is gone", ended.returncode == 1 and ended.stderr.splitlines()[-1].endswith("is gone. Fix: go to a folder that exists."), ended.stderr)
    place.remove()


def refuses_an_old_cmake():
    place = Place()
    for version, works in (("3.22.1", False), ("2.8.12", False), ("3.3.0", False), ("3.25.0-rc2", True), ("3.25.0", True), ("3.100.2", True), ("4.1.0", True)):
        ended = place.run("doctor", FAKE_VERSION=version)
        check(f"cmake {version}", ended.returncode == (0 if works else 3), ended.stderr)
        if not works:
            check(f"cmake {version}", f"cmake {version} is too old. Fix: install cmake 3.25 or later" in ended.stderr.splitlines()[-1], ended.stderr)
    place.program("cmake", "#!/bin/bash\nexit 127\n")
    ended = place.run("doctor")
    check("no cmake", ended.returncode == 3 and ended.stderr == "heddle: there is no cmake. Fix: install cmake 3.25 or later.\n", ended.stderr)
    place.remove()


def respects_a_foreign_checkout():
    if os.geteuid() != 0:
        user, place = None, Place()
        os.chmod(place.root, 0o555)
    else:
        user, place = NOBODY, Place()
    ended = place.run("doctor", user=user)
    check("a checkout without rights", ended.returncode == 2 and ended.stdout == "", ended.stderr)
    check("a checkout without rights", ended.stderr == f"heddle: {place.root}/build/release cannot be written, so nothing can be built there. "
          "Fix: copy the project to a folder of your own and call ./heddle there.\n", ended.stderr)
    os.chmod(place.root, 0o755)
    check("built by its owner", place.run("doctor").returncode == 0)
    for folder in ("build/release", "build"):
        os.chmod(os.path.join(place.root, folder), 0o555)
    ended = place.run("doctor", "--gpus", user=user)
    check("a built program of somebody else runs", ended.returncode == 0 and ended.stdout == f"{place.here}: --gpus\n", ended.stderr)
    check("and says so", ended.stderr == f"heddle: {place.root}/build/release cannot be written, so doctor is run as it was built\n", ended.stderr)
    ended = place.run("test", user=user)
    check("tests need a folder to write", ended.returncode == 2 and "build/gcc cannot be written" in ended.stderr, ended.stderr)
    for folder in ("build", "build/release"):
        os.chmod(os.path.join(place.root, folder), 0o755)
    place.remove()


def wait_for(path):
    for _ in range(200):
        if os.path.exists(path):
            return
        time.sleep(0.05)


def interrupt(place, begun, *arguments, send=os.killpg, what=signal.SIGINT, **environment):
    """What the command says and its exit code, if ^C is pressed, or another signal sent, as soon as the file `begun` is there."""
    running = place.start(*arguments, **environment)
    wait_for(begun)
    send(running.pid, what)
    printed, said = running.communicate(timeout=60)
    return running.returncode, printed, said


def ends_at_an_interrupt():
    place = Place()
    begun = os.path.join(place.folder, "begun")
    code, _, said = interrupt(place, begun, "doctor", FAKE_SLOW=begun)
    check("^C in a build", code == 130 and said.endswith("\nheddle: stopped before the end; what is built so far stays\n"), said)
    begun = os.path.join(place.folder, "training")
    code, printed, said = interrupt(place, begun, "train", "--processes", "2", FAKE_TRAINING=begun, TMPDIR=place.folder)
    check("the folder of notes is gone", not [name for name in os.listdir(place.folder) if name.startswith("tmp.")], os.listdir(place.folder))
    told = "\nheddle: stopped before the end; there is no table\n"  # not by the processes: mpirun drops what they say after it
    check("^C while processes train", code == 130 and printed.endswith("ended\n") and said.endswith(told), (code, printed, said))
    # Several at once: on a busy machine bash forgot how mpirun had ended.
    with concurrent.futures.ThreadPoolExecutor(16) as threads:
        paths = [os.path.join(place.folder, f"training{i}") for i in range(16)]
        for code, printed, said in threads.map(lambda path: interrupt(place, path, "train", "--processes", "2", FAKE_TRAINING=path, FAKE_END="0"), paths):
            check("^C after the table", code == 130 and printed.endswith("ended\n") and "there is no table" not in said, (code, printed, said))
    # A scheduler, or docker stop, tells the script alone.
    for what, expected in ((signal.SIGTERM, 143), (signal.SIGHUP, 129), (signal.SIGINT, 130)):
        os.remove(begun)
        code, printed, said = interrupt(place, begun, "train", "--processes", "2", send=os.kill, what=what, FAKE_TRAINING=begun)
        check(f"{what} of the script is passed on", code == expected and printed.endswith("ended\n") and "signal" not in said and said.endswith(told),
              (code, printed, said))
    check("the exit code of mpirun", place.run("train", "--processes", "2", FAKE_CODE="7").returncode == 7)
    for code, words in ((137, "9 (KILL), so all were ended. Fix: look whether memory ran out"), (139, "11 (SEGV), so all were ended. Fix: look for the place in"),
                        (152, "24 (XCPU), so all were ended. Fix: look for who has sent it")):
        ended = place.run("train", "--processes", "2", FAKE_CODE=str(code))
        check(f"a process that was ended with {code}", ended.returncode == code and ended.stderr.splitlines()[-1].startswith(
            f"heddle: a process of 'train_processes' was ended by signal {words}"), ended.stderr)
    for code in (128, 255):
        check(f"{code} is no signal", "signal" not in place.run("train", "--processes", "2", FAKE_CODE=str(code)).stderr)
    place.remove()


BECOMES = "bash|-c|="  # with what is between: a shell that notes how the program ends, and a folder for its notes
FIX = "Fix: write ./heddle run -np 4 PROGRAM, with the number of devices of the plan.\n"


# An mpirun that starts its processes one after another, and ends the others if one ends otherwise than with 0.
IN_TURN = """#!/bin/bash
for ((rank = 0; rank < $2; ++rank)); do
  OMPI_COMM_WORLD_RANK=$rank "${@:3}" || exit
done
if [[ -n ${FAKE_IMPROPER-} ]]; then exit 1; fi
"""
FULL = "heddle: [heddle.D20] standard output cannot be written: No space left on device. Fix: free disk space, or send the output elsewhere.\n"
CLOSED = "heddle: [heddle.D20] standard output cannot be written: Bad file descriptor. Fix: send the output to a file or a terminal.\n"
UNREAD = "heddle: [heddle.D20] standard output cannot be written: Broken pipe. Fix: let the program behind the pipe read to the end, or write to a file.\n"


def tells_how_processes_end():
    place = Place()
    place.program("mpirun", IN_TURN)
    place.file("mine", '#!/bin/bash\nif [[ $OMPI_COMM_WORLD_RANK == "$1" ]]; then if [[ $2 == SEGV ]]; then kill -SEGV $$; fi; exit "$2"; fi\n')
    for rank, code, words in (("1", "3", "process 1 of 'mine' ended with exit code 3 while others ran, so all were ended. Fix: look at what it said last, or for an exit() in it."),
                              ("0", "1", "process 0 of 'mine' ended with exit code 1 while others ran, so all were ended. Fix: look at what it said last, or for an exit() in it."),
                              ("2", "SEGV", "process 2 of 'mine' was ended by signal 11 (SEGV), so all were ended. Fix: look for the place in a debugger, or build with -g "
                               "-fsanitize=address.")):
        ended = place.run("run", "-np", "4", "mine", rank, code)
        check(f"{rank} ends with {code}", ended.returncode == (139 if code == "SEGV" else int(code)) and ended.stderr == f"heddle: {words}\n", ended.stderr)
    ended = place.run("run", "-np", "1", "mine", "0", "7")
    check("a code that all have ended with is the program's", ended.returncode == 7 and ended.stderr == "", ended.stderr)
    ended = place.run("run", "-np", "2", "mine", FAKE_IMPROPER="yes")
    check("a process that ends with 0 in the middle", ended.returncode == 1 and ended.stderr == "heddle: a process of 'mine' ended with exit code 0 in the middle, without "
          "MPI_Finalize. Fix: let its main function end; look for _exit() or quick_exit() in it.\n", ended.stderr)
    place.remove()


def output_that_is_refused_is_told():
    place = Place()
    place.program("mpirun", IN_TURN)
    place.file("tells", "#!/bin/bash\necho words\n")
    place.file("fails", "#!/bin/bash\necho words\nexit 5\n")
    place.file("goes_on", "#!/bin/bash\nfor ((i = 0; i < 300; ++i)); do echo words; sleep 0.01; done\n")
    notes = os.path.join(place.folder, "notes")
    os.mkdir(notes)
    for command, code in ((("run", "-np", "2", "tells"), 1), (("run", "-np", "1", "fails"), 5), (("train", "--processes", "2"), 1)):
        with open("/dev/full", "w", encoding="utf-8") as full:
            ended = subprocess.run(place.command(*command), cwd=place.here, stdout=full, stderr=subprocess.PIPE, text=True, timeout=60,
                                   env=place.environment(TMPDIR=notes, FAKE_QUIET="yes"))
        check(f"a full output of {command}", ended.returncode == code and ended.stderr.endswith(FULL), (ended.returncode, ended.stderr))
        ended = subprocess.run(["bash", "-c", '"$@" >&-', "closed", *place.command(*command)], cwd=place.here, stderr=subprocess.PIPE, text=True, timeout=60,
                               env=place.environment(TMPDIR=notes, FAKE_QUIET="yes"))
        check(f"a closed output of {command}", ended.returncode == 1 and ended.stderr.endswith(CLOSED), (ended.returncode, ended.stderr))
    ended = subprocess.run(["bash", "-c", '"$@" | head -n 1; exit "${PIPESTATUS[0]}"', "read", *place.command("run", "-np", "1", "goes_on")], cwd=place.here,
                           capture_output=True, text=True, timeout=60, env=place.environment(TMPDIR=notes, FAKE_QUIET="yes"))
    check("an output that nobody reads", ended.returncode == 1 and ended.stdout == "words\n" and ended.stderr == UNREAD, (ended.returncode, ended.stderr))
    check("nothing is left behind", os.listdir(notes) == [], os.listdir(notes))
    os.rmdir(notes)
    ended = place.run("run", "-np", "2", "tells", TMPDIR=notes)
    check("no folder for notes", ended.returncode == 1 and f"heddle: no folder for notes can be made in {notes}. Fix: " in ended.stderr, ended.stderr)
    place.remove()


def starts_programs_of_others():
    place = Place()
    place.program("mpirun", '#!/bin/bash\nif [[ -n ${FAKE_TRAINING-} ]]; then trap "exit 1" INT; touch "$FAKE_TRAINING"; for ((i = 0; i < 200; ++i)); do sleep 0.1; done; fi\n'
                  'for one in "$@"; do if [[ $one == : ]]; then echo "two programs"; exit 99; fi; done; '
                  'printf "%s: " "$PWD"; printf "%s|" "${@:1:4}" "${@:8}"; printf "%s\\n" "$OMPI_MCA_rmaps_base_oversubscribe"; exec "${@:3}"\n')
    for name in ("mine", "build/mine"):
        place.file(name, "#!/bin/bash\nexit ${1-0}\n")
    for command, number, program, code in ((("-np", "4", "build/mine", "7", "a b"), "4", "build/mine", 7), (("-n", "02", "./mine"), "2", "./mine", 0),
                                           (("--np=3", "mine"), "3", "mine", 0), (("-np", "1", "--", "mine", "-np"), "1", "mine", 255)):
        ended = place.run("run", *command)
        rest = command[command.index(program) + 1:]
        line = f"{place.here}: -np|{number}|{BECOMES}{'|='.join([os.path.join(place.here, program), *rest])}|1\n"
        check(f"run {command}", ended.stdout == line, ended.stdout + ended.stderr)
        check(f"the exit code of {command}", ended.returncode == code or code == 255, ended.returncode)
    check("a program of the system", f"{place.here}: -np|2|{BECOMES}/usr/bin/true|1\n" == place.run("run", "-np", "2", "true").stdout)
    place.file("tells", '#!/bin/bash\nprintf "<%s>" "$@"\n')
    for rest in (("a", ":", "./mine", "b"), ("-np", "3", "", "=", "==", "-x", "a b", "$HOME `id` \"'", "two\nlines", "*", "\\")):
        ended = place.run("run", "-np", "2", "tells", *rest)
        check(f"the arguments {rest}", ended.stdout.endswith("|1\n" + "".join(f"<{one}>" for one in rest)), ended.stdout + ended.stderr)
    closed = subprocess.run(["bash", "-c", '"$@" <&-', "closed", *place.command("run", "-np", "2", "cat")], cwd=place.here, env=place.environment(),
                            capture_output=True, text=True, timeout=60)
    check("standard input that is closed", closed.returncode == 0 and closed.stderr == "", closed.stdout + closed.stderr)
    for command, words in (((), "the number of processes is missing. "), (("mine",), "the number of processes is missing. "),
                           (("-np",), "-np has no number. "), (("-np", "4"), "the program is missing. "), (("-np", "4", ""), "the program is missing. "),
                           (("-np", "many", "mine"), "the number of processes is 'many', which is no number from 1 on. "),
                           (("-np", "0", "mine"), "the number of processes is '0', which is no number from 1 on. "),
                           (("-np", "4097", "mine"), "the number of processes is 4097, above the limit of 4096. "),
                           (("-np", "01000000000", "mine"), "the number of processes is 1000000000, above the limit of 4096. "),
                           (("-np", "-1", "mine"), "the number of processes is '-1', which is no number from 1 on. "),
                           (("--fast", "mine"), "./heddle run has no option '--fast'; those of the program stand after its name. ")):
        ended = place.run("run", *command)
        check(f"run {command}", ended.returncode == 2 and ended.stdout == "" and ended.stderr == f"heddle: {words}{FIX}", ended.stderr)
    place.file("text", "words", 0o644)
    place.file("words", "words")
    place.file("orphan", "#! /none/such -e\n")
    with open("/bin/true", "rb") as program:
        place.file("cut", program.read(9000).decode("latin-1"))
    for name, words in (("none", f"there is no program 'none' in {place.here}. Fix: build it first, or give its path."),
                        ("text", "'text' is no program that can be started. Fix: give the path of a file with the right to execute (chmod +x)."),
                        ("words", "'words' is no program that can be started: it is neither compiled nor a script. Fix: build it, or begin it with a line "
                                  "such as #!/bin/bash."),
                        ("orphan", "'orphan' is no program that can be started: its first line names '/none/such', which is not there. Fix: name an "
                                   "interpreter of this machine there."),
                        ("cut", "'cut' is no program that can be started: its end is missing. Fix: build it again."),
                        ("build/", "'build/' is no program that can be started. Fix: give the path of a file with the right to execute (chmod +x).")):
        ended = place.run("run", "-np", "4", name)
        check(f"run {name}", ended.returncode == 1 and ended.stdout == "" and ended.stderr == f"heddle: {words}\n", ended.stderr)
    begun = os.path.join(place.folder, "begun")
    check("^C while a program runs", interrupt(place, begun, "run", "-np", "2", "mine", FAKE_TRAINING=begun)[0] == 130)
    os.remove(os.path.join(place.programs, "mpirun"))
    for name in ("bash", "dirname", "readlink"):
        os.symlink(shutil.which(name), os.path.join(place.programs, name))
    ended = place.run("run", "-np", "4", "mine", PATH=place.programs)
    check("no mpirun", ended.returncode == 3 and "there is none. Fix: install an MPI" in ended.stderr, ended.stderr)
    place.remove()


WAITS = "heddle: waits for another ./heddle, which builds in build/release\n"


def builds_one_at_a_time():
    place = Place()
    alone = os.path.join(place.folder, "alone")
    commands = [("doctor",), ("train", "--processes", "2"), ("train",), ("doctor",)]
    running = [place.start(*command, FAKE_ALONE=alone) for command in commands]
    said = []
    for command, process in zip(commands, running):
        said.append(process.communicate(timeout=60)[1])
        check(f"{command} beside others", process.returncode == 0, said[-1])
    check("who waits says so", any(WAITS in words for words in said), said)
    runs = os.path.join(place.folder, "runs")
    running = place.start("doctor", FAKE_RUNS=runs, FAKE_STAYS="yes")
    wait_for(runs)
    ended = place.run("doctor")
    check("a program that runs and what a build leaves behind keep nobody waiting", ended.returncode == 0 and WAITS not in ended.stderr, ended.stderr)
    os.killpg(running.pid, signal.SIGKILL)
    running.communicate()
    with open(os.path.join(place.root, "build", ".release.lock"), "w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        running = place.start("doctor")
        check("a build elsewhere is waited for", running.stderr.readline() == WAITS)
        os.killpg(running.pid, signal.SIGINT)
        said = running.communicate(timeout=60)[1]
        check("^C while another builds", running.returncode == 130 and said.endswith("heddle: stopped before the end; what is built so far stays\n"), said)
    place.program("flock", "#!/bin/bash\nexit 71\n")
    ended = place.run("doctor")
    check("a file system without locks", ended.returncode == 0 and WAITS not in ended.stderr, ended.stderr)
    os.remove(os.path.join(place.programs, "flock"))
    for name in ("bash", "chmod", "dirname", "grep", "head", "mkdir", "mktemp", "nproc", "readlink", "rm", "sort", "tee", "touch"):
        os.symlink(shutil.which(name), os.path.join(place.programs, name))
    ended = place.run("doctor", PATH=place.programs)
    check("a machine without flock", ended.returncode == 0, ended.stderr)
    place.remove()


def says_what_it_does_not_know():
    place = Place()
    check("the script is a program", os.stat(SCRIPT).st_mode & stat.S_IXUSR)
    ended = place.run("fly")
    check("an unknown command", ended.returncode == 1 and "there is no command 'fly'" in ended.stderr, ended.stderr)
    ended = place.run("train", "gtp")
    check("an unknown network", ended.returncode == 2 and "there is no network 'gtp' to train. Fix: name mnist, " in ended.stderr, ended.stderr)
    ended = place.run("train", "convnet", "--processes", "2")
    check("a network that is trained on threads", ended.returncode == 2 and "runs every rank as a thread" in ended.stderr, ended.stderr)
    ended = place.run("test", "-R", "core", "--help")
    check("help of the tests builds nothing", ended.returncode == 0 and "./heddle test -R" in ended.stdout and not os.path.exists(
        os.path.join(place.root, "build")), ended.stdout + ended.stderr)
    with open("/dev/full", "w", encoding="utf-8") as full:
        ended = subprocess.run(place.command("--help"), stdout=full, stderr=subprocess.PIPE, text=True, timeout=60, env=place.environment())
    check("help for a full disk", ended.returncode != 0 and "No space left" in ended.stderr, ended.stderr)
    place.remove()


paths_are_the_users()
refuses_an_old_cmake()
respects_a_foreign_checkout()
ends_at_an_interrupt()
tells_how_processes_end()
output_that_is_refused_is_told()
starts_programs_of_others()
builds_one_at_a_time()
says_what_it_does_not_know()
for fault in faults:
    print("FAULT", fault)
print(f"{len(faults)} faults")
sys.exit(1 if faults else 0)
