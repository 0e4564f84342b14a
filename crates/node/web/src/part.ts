// Parts of a page stand on their own: one that cannot be shown says so in its place, and stops no other.
import { element, get, write } from './dom';

/** Draws what is at, or around, the named place. */
export function part(place: string, draw: () => void): void {
  const home = get(place).closest('section, dialog, main') ?? document.body;
  const said = home.querySelector(`:scope > [data-broken="${place}"]`);
  try {
    draw();
    said?.remove();
  } catch (error) {
    console.error(`${place} could not be shown`, error);
    const note = said ?? element('p', { class: 'trouble', role: 'alert', 'data-broken': place });
    write(note, `✕ This part could not be shown: ${error instanceof Error ? error.message : String(error)}. What else stands in it may be old. The other parts go on, and so does this one as soon as it can.`);
    if (!said) home.append(note);
  }
}
