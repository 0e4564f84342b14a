// The stream of states from a coordinator. It is opened again whenever it ends or falls silent, for as long as the page is open.
import { Freshness, PATIENCE } from './freshness';
import type { Status } from './shapes';

const FIRST_WAIT = 500;
const LONGEST_WAIT = 4000;

export function follow(fresh: Freshness, take: (status: Status) => void): void {
  let wait = FIRST_WAIT;
  let source: EventSource | null = null;
  let silence = 0;

  const open = () => {
    source = new EventSource('/events');
    listen();
    source.addEventListener('status', (event) => {
      listen();
      wait = FIRST_WAIT;
      const status = read(event.data);
      if (!status) return;
      fresh.heard();
      take(status);
    });
    source.onerror = () => void again();
  };
  const listen = () => {
    clearTimeout(silence);
    silence = setTimeout(() => void again(), PATIENCE * 1000);
  };
  const again = async () => {
    if (!source) return;
    source.close();
    source = null;
    clearTimeout(silence);
    // A stream does not say why it was refused.
    fresh.lost(await denied());
    setTimeout(open, wait);
    wait = Math.min(wait * 2, LONGEST_WAIT);
  };
  open();
}

const read = (text: string): Status | null => {
  try {
    return JSON.parse(text) as Status;
  } catch {
    return null;
  }
};

/** Whether this page may not look any more. */
export async function denied(): Promise<boolean> {
  try {
    const answer = await fetch('/status', { cache: 'no-store', signal: AbortSignal.timeout(2000) });
    return answer.status === 401 || answer.status === 403;
  } catch {
    return false;
  }
}

/** An answer as JSON; `null` where there is none. What is missing now may be there in a moment, so nobody is bothered. */
export async function ask<T>(path: string): Promise<T | null> {
  try {
    const answer = await fetch(path, { cache: 'no-store', signal: AbortSignal.timeout(PATIENCE * 1000) });
    return answer.ok ? ((await answer.json()) as T) : null;
  } catch {
    return null;
  }
}
