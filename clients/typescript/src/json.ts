/** JSON has no NaN and no infinity, and would quietly say `null`: names what is to blame instead. */
export function written(body: unknown): string {
  return JSON.stringify(body, function (this: unknown, key: string, value: unknown) {
    if (typeof value === 'number' && !Number.isFinite(value)) {
      const where = Array.isArray(this) ? `number ${key} of a list` : `\`${key}\``;
      throw new TypeError(`${where} is ${value}: only finite numbers can be sent`);
    }
    return value;
  });
}
