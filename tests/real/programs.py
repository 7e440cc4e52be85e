"""The programs: one function each. Decorate with @program(packages) and it is run; `g` is a guest.Guest."""
import os
import re
import signal
import sys

from guest import Failed, wait_until

ALL = {}
PACKAGES = {}


def program(*packages):
    def decorate(function):
        name = function.__name__.replace("_", "-")
        ALL[name], PACKAGES[name] = function, packages
        return function
    return decorate


def sorted_lines(text):
    return "\n".join(sorted(text.splitlines()))


# Compilers and builds

C_SOURCE = "".join("int f%d(int a) { int s = 0; for (int i = 0; i < a; i++) s += i * %d; return s; }\n" % (i, i)
                   for i in range(200))
CPP_SOURCE = """#include <map>
#include <string>
#include <vector>
int main() {
    std::map<std::string, std::vector<int>> m;
    for (int i = 0; i < 100; i++) m[std::to_string(i)].push_back(i);
    return m.size() != 100;
}
"""


@program("gcc")
def gcc(g):
    g.same("gcc", "-O2", "-Wall", "-c", g.file("many.c", C_SOURCE), "-o", "many.o", products=("many.o",),
           functions=("xmalloc", "xcalloc", "__libc_start_main"), processes=3)


@program("gcc")
def gcc_error(g):
    """The messages and the status of a failure are the program's too."""
    g.same("gcc", "-c", g.file("wrong.c", "int main(void) { return nowhere; }\n"), status=1, functions=("xmalloc",), processes=2)


@program("clang")
def clang(g):
    g.same("clang++", "-O2", "-c", g.file("many.cpp", CPP_SOURCE), "-o", "many.o", products=("many.o",),
           functions=("clang::ParseAST",))


@program("make", "gcc")
def make(g):
    rules = "all: a b c d\n%:\n\t@echo 'int main(void) { return 0; }' >$@.c; gcc -o $@ $@.c && ./$@ && echo made $@\n"
    g.same("make", "-j2", "-f", g.file("Makefile", rules), normal=sorted_lines, functions=("xmalloc",), processes=20)


# Interpreters

PYTHON = """
import json, os, subprocess, sys, threading
done = []
threads = [threading.Thread(target=lambda i=i: done.append(len(json.dumps(list(range(i * 1000)))))) for i in range(8)]
for t in threads: t.start()
for t in threads: t.join()
print(sorted(done))
print(subprocess.run(["/bin/echo", "from a child"], stdout=subprocess.PIPE).stdout)
sys.stdout.flush()
pid = os.fork()
if pid == 0:
    list(range(100000))
    os._exit(7)
print(os.WEXITSTATUS(os.waitpid(pid, 0)[1]))
print(os.environ.get("TIDE_REAL"), file=sys.stderr)
sys.exit(3)
"""


@program("python3")
def python3(g):
    g.same("/usr/bin/python3", "-I", g.file("script.py", PYTHON), status=3, env={"TIDE_REAL": "kept"},
           functions=("Py_BytesMain", "<module>"), processes=3)


PERL = r"""
use strict; use warnings;
my %h = map { ("key$_" => "x" x $_) } 1 .. 3000;
print scalar(keys %h), " ", length(join "", sort values %h), "\n";
print `echo from a child`;
my $pid = fork; if (!$pid) { my @a = (1) x 10000; exit 5 } waitpid $pid, 0; print $? >> 8, "\n";
eval { die "caught\n" }; print $@;
local $SIG{ALRM} = sub { print "alarm\n" }; kill 'ALRM', $$;
warn "to stderr\n";
exit 4;
"""


@program("perl")
def perl(g):
    g.same("perl", g.file("script.pl", PERL), status=4, functions=("perl_run", "Perl_newSV"), processes=3)


BASH = r"""
trap 'echo trapped' USR1
kill -USR1 $$
words() { for i in {1..50}; do echo "word $i" | tr a-z A-Z; done; }
words | sort | tail -3
(exit 6); echo "status $?"
read -r first < <(seq 1000)
echo "$first $(seq 1000 | wc -l)"
sleep 0.1 & wait $!; echo "waited $?"
array=($(seq 2000)); echo "${#array[@]} ${array[@]: -1}"
{ sh -c 'kill -9 $$'; } 2>/dev/null; echo "killed $?"
echo to stderr >&2
exec sh -c 'exit 9'
"""


@program("bash")
def bash(g):
    g.same("bash", g.file("script.sh", BASH), status=9, functions=("xmalloc", "execute_command"), processes=100)


@program("bash")
def bash_killed(g):
    """Death by a signal is passed on as the shell's 128 + n."""
    g.same("bash", "-c", 'x=$(seq 100); kill -SEGV $$', status=128 + 11, functions=("xmalloc",))


LUA = """
local t = {}
for i = 1, 100000 do t[#t + 1] = ("%d:%s"):format(i, ("x"):rep(i % 50)) end
table.sort(t)
print(#t, t[1], t[#t], #table.concat(t))
local co = coroutine.wrap(function() for i = 1, 3 do coroutine.yield(i) end end)
print(co(), co(), co(), pcall(error, "caught"))
print(io.popen("echo from a child"):read("*l"))
os.exit(2)
"""


@program("lua5.4")
def lua(g):
    g.same("lua5.4", g.file("script.lua", LUA), status=2, functions=("lua_callk", "lua_newstate"), processes=2)


LUAJIT = LUA.replace("os.exit(2)", """
local ffi = require("ffi")
ffi.cdef "void *malloc(size_t); void free(void *);"
local last
for i = 1, 50000 do last = ffi.C.malloc(33); ffi.C.free(last) end -- called by machine code made at run time
os.exit(2)
""")


@program("luajit")
def luajit(g):
    g.same("luajit", g.file("script.lua", LUAJIT), status=2, functions=("lua_pcall",), processes=2)
    g.equal("allocations by made code are counted", g.allocations >= 50000, True)


NODE = """
const { Worker, isMainThread, parentPort, workerData } = require('worker_threads');
const { execFileSync } = require('child_process');
if (!isMainThread) {
    parentPort.postMessage(JSON.stringify(Array.from({ length: 20000 }, (_, i) => ({ i, n: workerData }))).length);
} else {
    const work = [1, 2, 3].map(n => new Promise((resolve, reject) => {
        const w = new Worker(__filename, { workerData: n });
        w.on('message', resolve); w.on('error', reject);
    }));
    Promise.all(work).then(sizes => {
        let hot = 0;
        for (let i = 0; i < 3e6; i++) hot = (hot * 31 + i) | 0; // long enough to be compiled
        console.log(sizes, hot, Buffer.alloc(1 << 20, 'ab').toString('hex').length);
        console.log(execFileSync('/bin/echo', ['from a child']).toString());
        console.error('to stderr');
        process.exitCode = 3;
    });
}
"""


@program("nodejs")
def node(g):
    g.same("node", g.file("script.js", NODE), status=3, functions=("node::Start",), processes=2)


JAVA = """
import java.util.*;
import java.util.concurrent.*;
public class Real {
    public static void main(String[] args) throws Exception {
        ExecutorService pool = Executors.newFixedThreadPool(4);
        List<Future<Integer>> sums = new ArrayList<>();
        for (int n = 0; n < 8; n++) {
            int k = n;
            sums.add(pool.submit(() -> { Map<String, Integer> m = new HashMap<>();
                for (int i = 0; i < 20000; i++) m.merge("k" + i % 100, i * k, Integer::sum);
                return m.hashCode(); }));
        }
        for (Future<Integer> f : sums) System.out.println(f.get());
        pool.shutdown();
        try { Object o = null; o.hashCode(); } // found by a SIGSEGV handler
        catch (NullPointerException e) { System.out.println("caught"); }
        System.err.println("to stderr");
        System.exit(3);
    }
}
"""


@program("default-jdk-headless")
def java(g):
    g.same("java", "-Xmx256m", g.file("Real.java", JAVA), status=3, functions=("JNI_CreateJavaVM",))


RUBY = """
require 'json'
a = (1..20000).map { |i| { 'n' => i, 's' => 'x' * (i % 100) } }
puts JSON.generate(a).size
puts (1..4).map { |n| Thread.new { (1..1000).map { |i| i.to_s * n }.join.size } }.map(&:value).inspect
puts `echo from a child`
pid = fork { Array.new(10000) { |i| i.to_s }; exit! 5 }
Process.wait pid
puts $?.exitstatus
puts Fiber.new { Fiber.yield 1; 2 }.resume
GC.start
warn 'to stderr'
exit 4
"""


@program("ruby")
def ruby(g):
    g.same("ruby", g.file("script.rb", RUBY), status=4, functions=("ruby_run_node", "rb_vm_exec"), processes=3)


PHP = r"""<?php
$a = [];
for ($i = 0; $i < 100000; $i++) $a["k$i"] = str_repeat("x", $i % 100);
echo count($a), " ", strlen(implode("", $a)), "\n";
preg_match_all('/\d+/', implode(" ", range(1, 20000)), $m);
echo count($m[0]), " ", count(token_get_all('<?php echo 1 + 2;')), "\n";
echo shell_exec("echo from a child");
try { throw new Exception("caught"); } catch (Exception $e) { echo $e->getMessage(), "\n"; }
fprintf(STDERR, "to stderr\n");
exit(4);
"""


@program("php-cli")
def php(g):
    """Its extensions are loaded with RTLD_DEEPBIND: they call libc's malloc past us, which a note must tell."""
    profile = g.same("php", g.file("script.php", PHP), status=4, functions=("php_module_startup",), processes=2)
    notes = [note for note in g.report(profile)["notes"] if "RTLD_DEEPBIND" in note]
    g.equal("notes on its extensions", len(notes), 1)


# Tools

GIT = """
set -e
export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b
export GIT_AUTHOR_DATE='2020-01-01T00:00:00Z' GIT_COMMITTER_DATE='2020-01-01T00:00:00Z' GIT_CONFIG_NOSYSTEM=1
git init -q -b main one && cd one
for i in 1 2 3 4 5; do seq $i 500 >file$i; git add .; git commit -q -m "commit $i"; done
git log --stat --format='%H %s'
git gc -q && git fsck
git clone -q . ../two && cd ../two && git grep -c 49 && git diff --shortstat HEAD~4
git blame file1 | tail -1
git checkout nowhere
"""


@program("git", "bash")
def git(g):
    g.same("bash", g.file("script.sh", GIT), status=1, functions=("__libc_start_main",), processes=20)


SQL = """
create table t(a integer primary key, b text);
with recursive n(i) as (select 1 union all select i + 1 from n where i < 20000)
insert into t select i, 'text ' || (i * 7919 % 10007) from n;
create index by_b on t(b);
select count(*), min(b), max(b), sum(a) from t where b like 'text 1%';
select b, count(*) from t group by b having count(*) > 2 limit 3;
select nothing from t;
"""


@program("sqlite3")
def sqlite3(g):
    g.same("sqlite3", "real.db", stdin=g.file("script.sql", SQL), status=1, products=("real.db",), functions=("sqlite3_prepare_v2",))


@program("jq")
def jq(g):
    source = g.file("in.json", "[%s]" % ",".join('{"n": %d, "s": "%s"}' % (i, "x" * (i % 40)) for i in range(20000)))
    g.same("jq", "-c", "group_by(.s) | map({s: .[0].s, n: map(.n) | add}) | .[:5], length, error(\"stop\")", source, status=5,
           functions=("jq_next", "jv_parse_sized"))


@program("libxml2-utils")
def xmllint(g):
    text = "<all>%s</all>\n" % "".join('<item n="%d">text %d</item>' % (i, i * 31) for i in range(20000))
    g.same("xmllint", "--format", "--xpath", "//item[@n='777' or @n='19999']", g.file("in.xml", text),
           functions=("xmlParseDocument", "xmlXPathEval"))


@program("libxml2-utils")
def xmllint_error(g):
    g.same("xmllint", g.file("in.xml", "<all><item></all>\n"), status=1, functions=("xmlParseDocument",))


# Python's own tests

RESULT = re.compile(r"^(test\w*) \((\S+)\)(?:.*\n(?!test\w* \())*?.*?\.\.\. (?:.*\n)*?.*?(ok|FAIL|ERROR|skipped .*|expected failure)$",
                    re.MULTILINE)


def results(output):
    """{test: ok, FAIL, ERROR, skipped...} of the output of unittest with -v."""
    return {match.group(2) + " " + match.group(1): match.group(3) for match in RESULT.finditer(output)}


def own_tests(g, module):
    """Python's tests of itself: the same ones pass, fail and are skipped."""
    plain = ["/usr/bin/python3", "-m", "test", "-v", module]
    recorded, profile = g.command(plain)
    outcomes = []
    for command in (plain, recorded):
        g.fresh()
        out, err, code = g.run(command)
        outcomes.append((results(out + err), code, re.findall(r"^Ran \d+ tests?", out + err, re.MULTILINE)))
        g.file(module + (".recorded" if command is recorded else ".plain"), out + err)
    (want, status, ran), (got, got_status, got_ran) = outcomes
    if ran != ["Ran %d tests" % len(want)]:
        raise Failed("the output of %s has %d results but says %s" % (module, len(want), ran))
    for test in sorted({*want, *got}):
        if want.get(test) != got.get(test):
            g.failures.append("%s: %s, without tidemark %s" % (test, got.get(test), want.get(test)))
    g.equal("status", got_status, status)
    g.equal("tests run", got_ran, ran)
    g.look(profile, ("Py_BytesMain", "<module>"), processes=2)


PYTHON_TESTS = ("python3", "libpython%d.%d-testsuite" % sys.version_info[:2])


@program(*PYTHON_TESTS)
def python_test_threading(g):
    own_tests(g, "test_threading")


@program(*PYTHON_TESTS)
def python_test_fork1(g):
    own_tests(g, "test_fork1")


@program(*PYTHON_TESTS)
def python_test_subprocess(g):
    own_tests(g, "test_subprocess")


@program(*PYTHON_TESTS)
def python_test_multiprocessing_fork(g):
    own_tests(g, "test_multiprocessing_fork")


# Many processes and servers

MPI = """
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
__attribute__((noinline)) static long work(int rank) {
    long sum = 0;
    for (int i = 0; i < (rank + 1) * 1000; i++) { char *p = malloc(17); sum += (p[0] = (char)i); if (i % 2) free(p); }
    return sum;
}
int main(int argc, char **argv) {
    int rank, size; long mine, all;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    mine = work(rank) * 0 + rank;
    MPI_Allreduce(&mine, &all, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
    if (rank == 0) printf("%d ranks, sum %ld\\n", size, all);
    MPI_Finalize();
    return 0;
}
"""


@program("openmpi-bin", "libopenmpi-dev", "gcc")
def mpirun(g):
    g.fresh()
    ranks = os.path.join(g.folder, "ranks")
    g.ask("mpicc", "-g", "-O1", "-fno-builtin-malloc", g.file("ranks.c", MPI), "-o", ranks)
    profile = g.same("mpirun", "-n", "4", "--oversubscribe", ranks, processes=5,
                     env={"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}, functions=("main", "work"))
    counts = [r["total_count"] for process, report in g.each_process(profile) if process["command"][:1] == [ranks]
              for r in report["rows"] if r["name"] == "work"]
    g.equal("allocations of each rank", sorted(counts), [1000, 2000, 3000, 4000])


def terminate(server):
    """SIGTERM to what was started: tidemark, which must pass it on, or the server itself."""
    os.kill(server.pid, signal.SIGTERM)


def both_ways(g, argv, ready, load, stop, prepare=lambda: None):
    """A server plain and recorded: the same answers and exit status; returns the profile."""
    recorded, profile = g.command(argv)
    outcomes = []
    for command in (argv, recorded):
        g.fresh()
        prepare()
        outcomes.append(g.serve(command, ready, load, stop))
    (want, status), (got, got_status) = outcomes
    g.same_text("the clients' output", want, got)
    g.equal("status", got_status, status)
    return profile


def redis_run(g, stop):
    door = os.path.join(g.work, "redis.sock")
    client = ("redis-cli", "-s", door)

    def load():
        g.ask("redis-benchmark", "-s", door, "-q", "-n", "5000", "-c", "20", "-t", "set,get,lpush,lrange_100,mset")
        said = [g.ask(*client, *words) for words in (("SET", "key", "value"), ("GET", "key"), ("APPEND", "key", "x" * 100000),
                                                     ("RPUSH", "list", *map(str, range(500))), ("LRANGE", "list", "490", "-1"),
                                                     ("EVAL", "return redis.call('GET', KEYS[1])", "1", "key"), ("SAVE",))]
        return "".join(said)

    profile = both_ways(g, ["redis-server", "--port", "0", "--unixsocket", door, "--dir", g.work, "--save", ""],
                        lambda: os.path.exists(door) and g.run(("redis-cli", "-s", door, "PING"))[0] == "PONG\n", load, stop)
    g.look(profile, ("main", "__libc_start_main"))


@program("redis-server", "redis-tools")
def redis(g):
    redis_run(g, terminate)


@program("redis-server", "redis-tools")
def redis_own_stop(g):
    redis_run(g, lambda server: g.run(("redis-cli", "-s", os.path.join(g.work, "redis.sock"), "SHUTDOWN", "NOSAVE")))


def postgres_run(g, stop_word):
    versions = "/usr/lib/postgresql"
    bins = os.path.join(versions, max(filter(str.isdigit, os.listdir(versions)), key=int), "bin")
    # The server refuses to be root.
    user = ["setpriv", "--reuid=postgres", "--regid=postgres", "--init-groups"] if os.geteuid() == 0 else []
    data, log = os.path.join(g.work, "data"), os.path.join(g.work, "log")
    client = ["-h", g.work, "-U", "postgres"]
    tool = lambda name, *words: g.ask(*user, os.path.join(bins, name), *words)

    def prepare():
        tool("initdb", "-D", data, "-U", "postgres", "-A", "trust", "--no-sync")

    def load():
        tool("pgbench", *client, "-q", "-i", "-s", "1", "postgres")
        tool("pgbench", *client, "-n", "--random-seed=1", "-c", "4", "-t", "50", "postgres")
        # The last query is compiled to machine code, by a library loaded for it.
        said = tool("psql", *client, "-At", "-c", "select count(*), sum(delta) from pgbench_history", "-c", "set jit_above_cost = 0",
                    "-c", "select sum(abalance), sum(bid * aid), max(filler) from pgbench_accounts where aid % 3 = 1", "postgres")
        with open(os.path.join(g.folder, "server.log")) as lines:
            load.backends = sum("connection authorized" in line for line in lines) - load.backends
        return said

    load.backends = 0
    stop = terminate if stop_word == "TERM" else lambda server: tool("pg_ctl", "stop", "-D", data, "-m", stop_word)
    server = [*user, os.path.join(bins, "postgres"), "-D", data, "-k", g.work, "-c", "listen_addresses=", "-c", "fsync=off",
              "-c", "log_connections=on"]
    profile = both_ways(g, server, lambda: g.run([*user, os.path.join(bins, "pg_isready"), *client])[2] == 0, load, stop, prepare)
    # The first process is setpriv, which becomes the postmaster. It has at least four helpers (checkpointer, writers, launcher).
    reports = g.look(profile, ("PostmasterMain", "AllocSetContextCreateInternal", "palloc", "PostgresMain"),
                     processes=1 + 4 + load.backends)
    g.equal("exit statuses", {p["exit_code"] for p, report in reports if p["exit_code"] is not None} <= {0, 1}, True)


@program("postgresql", "postgresql-contrib", "util-linux")
def postgres(g):
    postgres_run(g, "TERM")


@program("postgresql", "postgresql-contrib", "util-linux")
def postgres_own_stop(g):
    postgres_run(g, "fast")


NGINX = """worker_processes 2; pid %(work)s/pid; error_log %(work)s/errors; daemon off;
events {}
http {
    access_log off; gzip on; gzip_types *; aio threads;
    client_body_temp_path %(work)s/a; proxy_temp_path %(work)s/b; fastcgi_temp_path %(work)s/c; uwsgi_temp_path %(work)s/d;
    scgi_temp_path %(work)s/e;
    server { listen unix:%(work)s/door; root %(work)s/html; }
}
"""


@program("nginx", "curl")
def nginx(g):
    """A master and workers of another user; with SIGHUP others take their place, and none of the old ones is lost."""
    conf = g.file("nginx.conf", NGINX % {"work": g.work})
    get = ("curl", "-s", "--compressed", "--unix-socket", os.path.join(g.work, "door"), "http://localhost/page")
    pages = []

    def workers():
        with open(os.path.join(g.work, "pid")) as number, open("/proc/%s/task/%s/children" % ((number.read().strip(),) * 2)) as pids:
            return set(pids.read().split())

    def prepare():
        os.makedirs(os.path.join(g.work, "html"))
        with open(os.path.join(g.work, "html", "page"), "w") as out:
            out.write("".join("line %d\n" % i for i in range(20000)))

    def load():
        said = [g.ask(*get) for _ in range(20)]
        old = workers()
        with open(os.path.join(g.work, "pid")) as number:
            os.kill(int(number.read()), signal.SIGHUP)
        wait_until("the change of workers", lambda: len(workers()) == 2 and not workers() & old)
        return "".join(said + [g.ask(*get) for _ in range(20)])

    profile = both_ways(g, ["nginx", "-c", conf], lambda: g.run(get)[2] == 0, load, terminate, prepare)
    g.look(profile, ("ngx_alloc", "ngx_create_pool"), processes=5)


# Tools that look at other programs, which are recorded too

TRACED = """#include <stdlib.h>
#include <stdio.h>
void *kept[1001];
int work(int i) { kept[i] = malloc(i + 1); return i; }
int main(void) { int sum = 0; for (int i = 0; i < 1000; i++) sum += work(i); printf("%d\\n", sum); return 2; }
"""


def traced(g, blocks, *argv, **options):
    """A tool and the program that it traces; the latter's blocks are counted exactly."""
    program = os.path.join(g.folder, "traced")
    g.fresh()
    g.ask("gcc", "-g", "-O1", g.file("traced.c", TRACED), "-o", program)
    profile = g.same(*argv, program, processes=2, **options)
    counts = [row["total_count"] for process, report in g.each_process(profile) if process["command"][:1] == [program]
              for row in report["rows"] if row["name"] == "work"]
    g.equal("blocks of the traced program", counts, [blocks])


@program("strace", "gcc")
def strace(g):
    traced(g, 1000, "strace", "-f", "-o", "/dev/null", status=2)


@program("gdb", "gcc")
def gdb(g):
    """Stops at a breakpoint in the recorded program, and calls a function of it."""
    traced(g, 1001, "gdb", "-nx", "-batch", "-ex", "break work if i == 500", "-ex", "run", "-ex", "print work(999)", "-ex", "continue",
           "-ex", "python print(sum(range(1000)))", normal=lambda text: re.sub(r"0x[0-9a-f]+|process \d+|LWP \d+", "N", text))
