// The dialog that explains every word.
import { get, prose, replace } from './dom';
import { state_of } from './words';

export function start_help(): void {
  const dialog = get<HTMLDialogElement>('help');
  const button = get<HTMLButtonElement>('help-open');
  // In the same words as anywhere else.
  for (const state of dialog.querySelectorAll<HTMLElement>('dt[data-state]')) replace(state.nextElementSibling!, prose(state_of(state.dataset.state!).means));
  button.hidden = false;
  button.addEventListener('click', () => dialog.showModal());
  get('help-close').addEventListener('click', () => dialog.close());
  dialog.addEventListener('click', (event) => event.target === dialog && dialog.close());
}
