// process_list: the processes of a recording as a list, with the words that identify them.

// Each process with its word for --process: PID, or PID#N if one process ran several programs.
export function processes_with_words(processes) {
    const programs = new Map(), seen = new Map();
    for (const {pid} of processes)
        programs.set(pid, (programs.get(pid) || 0) + 1);
    return processes.map((process) => {
        const number = (seen.get(process.pid) || 0) + 1;
        seen.set(process.pid, number);
        return {...process, word: programs.get(process.pid) > 1 ? `${process.pid}#${number}` : process.pid === null ? "not known" : String(process.pid)};
    });
}

// The process that commands use without --process: the one with the highest peak.
export function largest_process(rows, pid) {
    return rows.filter((row) => row.pid === pid)
        .reduce((a, b) => !a || (b.peak_bytes || 0) > (a.peak_bytes || 0) ? b : a, null);
}

// Children after their parents, with their depth.
export function process_rows(processes) {
    const rows = processes_with_words(processes);
    const known = new Set(rows.map((row) => row.pid)), children = new Map(), found = [];
    for (const row of rows) {
        const parent = known.has(row.ppid) && row.ppid !== row.pid ? row.ppid : null;
        children.set(parent, [...(children.get(parent) || []), row]);
    }
    const stack = (children.get(null) || []).map((row) => [row, 0]).reverse(), told = new Set();
    while (stack.length) {
        const [row, depth] = stack.pop();
        found.push({...row, depth});
        if (told.has(row.pid))
            continue;
        told.add(row.pid);
        for (const child of (children.get(row.pid) || []).slice().reverse())
            stack.push([child, depth + 1]);
    }
    return found.length === rows.length ? found : rows.map((row) => ({...row, depth: 0}));
}
