/** A name that nobody else makes up. Pages that are not served securely, and Node 18, lack `crypto.randomUUID`. */
export function unique(): string {
  const { crypto } = globalThis as { crypto?: Partial<Crypto> };
  if (crypto?.randomUUID) return crypto.randomUUID();
  const bytes = new Uint8Array(16);
  if (crypto?.getRandomValues) crypto.getRandomValues(bytes);
  else bytes.forEach((_, n) => (bytes[n] = Math.random() * 256));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
}
