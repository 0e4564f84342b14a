// All members, kept up to date by what changed since the last look.
import { ask } from './live';
import { part } from './part';
import type { Member, Members, Status } from './shapes';

export class Book {
  readonly all = new Map<number, Member>();
  private revision = 0;
  private started = 0;
  private asking = false;
  private wanted: Status | null = null;
  private readonly changed: ((changes: Member[]) => void)[] = [];

  /** Calls back, to draw at the named place, with who changed; `gone` ones are no longer in `all`. */
  on_change(place: string, call: (changes: Member[]) => void): void {
    this.changed.push((changes) => part(place, () => call(changes)));
  }

  /** Asks for what is newer than what is known, one question at a time. */
  async update(status: Status): Promise<void> {
    this.wanted = status;
    if (this.asking) return;
    this.asking = true;
    try {
      while (this.wanted) {
        const next: Status = this.wanted;
        this.wanted = null;
        await this.look(next);
      }
    } finally {
      this.asking = false;
    }
  }

  private async look(status: Status): Promise<void> {
    // Revisions are counted anew by every process.
    const anew = status.started !== this.started || status.revision < this.revision;
    if (!anew && status.revision === this.revision) return;
    const answer = await ask<Members>(`/members?since=${anew ? 0 : this.revision}`);
    if (!answer || !Array.isArray(answer.members)) return;
    const changes = answer.members;
    if (anew) {
      const there = new Set(changes.map((member) => member.client));
      for (const [client, member] of this.all) {
        if (!there.has(client)) changes.push({ ...member, state: 'gone' });
      }
    }
    for (const member of changes) {
      if (member.state === 'gone') this.all.delete(member.client);
      else this.all.set(member.client, member);
    }
    this.revision = answer.revision;
    this.started = status.started;
    if (changes.length || anew) for (const call of this.changed) call(changes);
  }
}
