// growth_line: the line that shows growth in a chart.

// The line has the answer's slope and goes through the middle of the points to which it was fitted.
export function growth_line_points(points, skipped, slope) {
    const used = points.slice(skipped), mean = (k) => used.reduce((sum, point) => sum + point[k], 0) / used.length;
    if (used.length < 2)
        return [];
    const x = mean(0), y = mean(1);
    return [used[0][0], used[used.length - 1][0]].map((at) => [at, y + (at - x) * slope]);
}
