// search: what the text in the search field matches.

// A test for texts: a regular expression or, if it is not valid, the text itself.
export function matcher(pattern) {
    if (!pattern)
        return null;
    try {
        const expression = new RegExp(pattern);
        return (text) => expression.test(text);
    } catch {
        return (text) => text.includes(pattern);
    }
}

export function rows_matching(rows, columns, pattern) {
    const test = matcher(pattern);
    return test ? rows.filter((row) => columns.some((column) => column.left && test(String(column.value(row) ?? ""))))
                : rows;
}
