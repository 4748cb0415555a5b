import { show } from '../shell.js';

show('live', null);
