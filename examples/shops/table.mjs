// What came of it, in columns.

const mean = (numbers) => numbers.reduce((sum, one) => sum + one, 0) / numbers.length;
const percent = (number) => `${(100 * number).toFixed(1)}%`;

/** The mean of differences, world by world; with its 95% interval where there are enough of them. */
function more(first, second) {
  const differences = second.map((one, n) => one - first[n]);
  const middle = mean(differences);
  const signed = `${middle < 0 ? '-' : '+'}${(100 * Math.abs(middle)).toFixed(1)}`;
  if (differences.length < 10) return signed;
  const spread = Math.sqrt(differences.reduce((sum, one) => sum + (one - middle) ** 2, 0) / (differences.length - 1));
  // Student's quantile, or a little more.
  const quantile = 1.96 + 2.72 / (differences.length - 1);
  return `${signed} +- ${((100 * quantile * spread) / Math.sqrt(differences.length)).toFixed(1)}`;
}

export function print(rows) {
  const lines = [['', 'visitors', 'alone', 'federated', 'more', 'at best']];
  for (const { name, visitors, alone, federated, best } of rows) {
    lines.push([name, String(visitors), percent(mean(alone)), percent(mean(federated)), more(alone, federated), percent(mean(best))]);
  }
  const widths = lines[0].map((_, column) => Math.max(...lines.map((line) => line[column].length)));
  for (const line of lines) {
    console.log(line.map((cell, n) => (n ? cell.padStart(widths[n]) : cell.padEnd(widths[n]))).join('  ').trimEnd());
  }
  const worlds = rows[0].alone.length;
  console.log(`how likely a visitor was to click on what they were shown; ${worlds === 1 ? 'one made-up world' : `means over ${worlds} made-up worlds`}`);
}
