// One script for both pages: they share most of it.
import { start_client } from './client';
import { start_coordinator } from './coordinator';
import { get } from './dom';
import { start_help } from './help';
import { start_theme } from './theme';

start_theme(get<HTMLButtonElement>('theme'));
start_help();
if (document.body.id === 'client-page') start_client();
else start_coordinator();
