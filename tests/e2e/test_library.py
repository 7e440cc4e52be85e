"""libtidemark.so: needs only libc, exports only what it must, calls nothing that could allocate or block."""
import os
import re
import subprocess

from harness import ROOT

# What the recorder must never call inside the program: it allocates, prints, locks or ends.
FORBIDDEN = re.compile(r"""^(
    malloc | calloc | realloc | free | strdup | strndup | asprintf | vasprintf | getline |
    .*printf(_chk)? | puts | fputs | putchar | fwrite | fopen | fopen64 | fclose | fflush | perror | std(in|out|err) |
    pthread_mutex_(lock|unlock|trylock) | pthread_cond_.* | pthread_rwlock_.* | sem_wait | pthread_once |
    __tls_get_addr |
    sigaction | signal | sigaltstack | setitimer | timer_create |
    exit | _exit | _Exit | abort | raise | __assert_fail | __stack_chk_fail |
    system | popen | backtrace | _Unwind_.* | dl_iterate_phdr_locked
    )$""", re.VERBOSE)


def tool(*command):
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout


def symbols(path, which):
    lines = tool("nm", "-D", "--" + which + "-only", path).splitlines()
    return {line.split()[-1].split("@")[0]: line.split()[-2] for line in lines}


def test_needs_only_libc(t):
    needed = set(re.findall(r"NEEDED.*\[(.*)\]", tool("readelf", "-d", t.library)))
    t.equal("needed", needed - {"libc.so.6", "ld-linux-x86-64.so.2"}, set())


def test_newest_version_needed(t):
    """Children with an older glibc (another root directory, RHEL 8) load it too: what is newer is looked for at run time."""
    versions = set(re.findall(r"\(GLIBC_([0-9.]+)\)", tool("objdump", "-T", t.library)))
    newest = max(versions, key=lambda version: [int(part) for part in version.split(".")])
    t.equal("newest version of glibc that is needed", newest, "2.17")


def test_exports(t):
    with open(os.path.join(ROOT, "src", "record", "exports.map")) as lines:
        script = "".join(line.split("#")[0] for line in lines)
    allowed = set(re.search(r"global:(.*)local:", script, re.DOTALL).group(1).replace(";", " ").split())
    exported = set(symbols(t.library, "defined"))
    t.equal("exported and not in exports.map", sorted(exported - allowed), [])
    t.equal("in exports.map and not exported", sorted(allowed - exported), [])


def test_calls_nothing_forbidden(t):
    # A weak reference is only looked at, never called blindly; one that the library defines itself is not libc's.
    wanted = {name for name, kind in symbols(t.library, "undefined").items() if kind == "U"}
    t.equal("forbidden", sorted(name for name in wanted if FORBIDDEN.match(name)), [])


def test_thread_local_storage_is_initial_exec(t):
    t.true("STATIC_TLS flag", "STATIC_TLS" in tool("readelf", "-d", t.library))


def test_no_executable_stack_nor_text_relocations(t):
    t.true("no TEXTREL", "TEXTREL" not in tool("readelf", "-d", t.library))
    stack = [line for line in tool("readelf", "-lW", t.library).splitlines() if "GNU_STACK" in line]
    t.true("stack is not executable", all("RWE" not in line for line in stack), stack)
