// How old what is shown is, and what to do when nobody answers any more.
import { element, get, prose, replace, write } from './dom';
import { clock, duration } from './words';

/** Without news for so long, whoever is asked is taken for gone. Longer than the slowest heartbeat by a good deal. */
export const PATIENCE = 15;

export class Freshness {
  private last: number | null = null;
  private gone: number | null = null;
  private denied = false;
  /** What to do about silence, in one sentence. */
  constructor(
    private who: string,
    private remedy: string,
  ) {
    setInterval(() => this.show(), 1000);
  }

  /** Something came. */
  heard(): void {
    this.last = Date.now() / 1000;
    this.gone = null;
    this.denied = false;
    this.show();
  }

  /** Nothing comes any more. */
  lost(denied = false): void {
    this.gone ??= this.last ?? Date.now() / 1000;
    this.denied = denied;
    this.show();
  }

  private show(): void {
    const now = Date.now() / 1000;
    const banner = get('gone');
    document.documentElement.toggleAttribute('data-gone', this.gone !== null);
    if (this.gone !== null) {
      const since = `${clock(this.gone)}, ${duration(now - this.gone)} ago`;
      // What was said of its health was said before.
      get('health').dataset.health = 'failing';
      write(get('health'), '✕ silent');
      write(get('fresh'), `last update ${this.last === null ? 'never' : `${duration(now - this.last)} ago`}`);
      // The first part is read aloud once; the second changes every second and is not.
      if (banner.hidden || banner.dataset.denied !== String(this.denied)) {
        replace(
          banner,
          element('strong', {}, this.denied ? 'This page may not look any more. ' : `✕ ${this.who} does not answer. `),
          this.denied ? element('a', { href: '/' }, 'Sign in again.') : prose(`What you see is as it stood then. This page tries again by itself. ${this.remedy}`),
          ' ',
          element('span', { id: 'gone-since', 'aria-hidden': 'true' }),
        );
        banner.dataset.denied = String(this.denied);
        banner.hidden = false;
      }
      write(get('gone-since'), `Silent since ${since}.`);
      return;
    }
    banner.hidden = true;
    if (this.last !== null) write(get('fresh'), `last update ${duration(now - this.last)} ago`);
  }
}
